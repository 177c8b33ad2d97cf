"""TensorFlow frontend: GraphDef to ge.Graph and back, and the hook into TensorFlow's graph optimizer."""
