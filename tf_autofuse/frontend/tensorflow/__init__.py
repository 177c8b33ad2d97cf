"""TensorFlow frontend: GraphDef to ge.Graph and back, and the hook into its graph optimizer."""
