/* Chebyshev series on [-1, 1], first term halved: made by scripts/fit_special.py. */
#ifndef AUTOFUSE_HOST_SPECIAL_TABLES_H_
#define AUTOFUSE_HOST_SPECIAL_TABLES_H_

static const double kI0Near[29] = {
    0x1.5a84e9035a22ap-2,  -0x1.37febc057cd8dp-2,  0x1.5f7ac77ac88c0p-3,  -0x1.84b70342d06eap-4,
    0x1.93e8acea8a32dp-5,  -0x1.84e9ef121b6f0p-6,  0x1.59961f3dde3ddp-7,  -0x1.1b65e201aa849p-8,
    0x1.adc758a12100ep-10, -0x1.2e2fd1f15eb52p-11, 0x1.8b51b74107cabp-13, -0x1.e2b2659c41d5ap-15,
    0x1.13f58be9a2859p-16, -0x1.2866fcba56427p-18, 0x1.2bf24978cf4acp-20, -0x1.1ec638f227f8dp-22,
    0x1.03b769d4d6435p-24, -0x1.beaf68c0b30abp-27, 0x1.6d903a454cb34p-29, -0x1.1d4fe13ae9556p-31,
    0x1.a98becc743c10p-34, -0x1.2fc957a946abcp-36, 0x1.9fe2fe19bd324p-39, -0x1.1164c62ee1af0p-41,
    0x1.59b464b262627p-44, -0x1.a5022c297fbebp-47, 0x1.ee6d893f65ebap-50, -0x1.184eb721ebbb4p-52,
    0x1.33362977da589p-55,
};
static const double kI0Far[23] = {
    0x1.9be62aca809cbp-2,   0x1.b998ca2e59049p-9,   0x1.20fa378999e52p-14,  0x1.8412bc101c586p-19,
    0x1.b8007d9cd616ep-23,  0x1.8569280d6d56dp-26,  0x1.d2c64a9225b87p-29,  0x1.0f9ccc0f46f75p-31,
    0x1.a24feabe8004fp-37,  -0x1.1511d08397425p-35, -0x1.d0fd7357e7bf2p-37, -0x1.f904303178d66p-40,
    0x1.94347fa268cecp-41,  0x1.b1c8c6b83c073p-42,  0x1.156ff0d5fc545p-46,  -0x1.75d99cf68bb32p-45,
    -0x1.583fe7e65629ap-47, 0x1.12a919094e6d7p-48,  0x1.fee7da3eafb1fp-50,  -0x1.8aee7d908de38p-52,
    -0x1.4600babd21fe4p-52, 0x1.3f3dd076041cdp-55,  0x1.9be1812d98421p-55,
};
static const double kI1Near[28] = {
    0x1.02a63724a7ffap-3,  -0x1.694d10469192ep-3,  0x1.a46dad536f53cp-4,  -0x1.b1bbc537c9ebcp-5,
    0x1.951e3e7bb2349p-6,  -0x1.5a29f7913a26ap-7,  0x1.1065349d3a1b4p-8,  -0x1.8cc620b3cd4a4p-10,
    0x1.0c95db6c6df7dp-11, -0x1.533cad3d694fep-13, 0x1.911b542c70d0bp-15, -0x1.bd5f9b8debbcfp-17,
    0x1.d1c4ed511afc5p-19, -0x1.cc0798363992ap-21, 0x1.ae344b347d108p-23, -0x1.7dd3e24b8c3e8p-25,
    0x1.4258e02395010p-27, -0x1.0361b28ea67e6p-29, 0x1.8ea34b43fdf6cp-32, -0x1.2510397eb07dep-34,
    0x1.9cee2b21d3154p-37, -0x1.173835fb70366p-39, 0x1.6af784779d955p-42, -0x1.c628e1c8f0b3bp-45,
    0x1.11d7f0615290cp-47, -0x1.3eaaa7e0d1573p-50, 0x1.663e3e593bfacp-53, -0x1.857d0c38a0576p-56,
};
static const double kI1Far[23] = {
    0x1.8ea18b55b1514p-2,   -0x1.3fda053fcdb4cp-7,  -0x1.cfd7f804aa9a6p-14, -0x1.048df49ca0373p-18,
    -0x1.0dbfd2e9e5443p-22, -0x1.c415394bb46c1p-26, -0x1.0790b9ad53528p-28, -0x1.334ca5423dd80p-31,
    -0x1.4dcf9d4504c0cp-36, 0x1.1e1a1f1587865p-35,  0x1.f101f653c457bp-37,  0x1.1e7d3f6439fa3p-39,
    -0x1.953e1076ab493p-41, -0x1.cbc458e73e255p-42, -0x1.7a9482e6d22a0p-46, 0x1.80d3c26b3281ep-45,
    0x1.776e1762d31e8p-47,  -0x1.12db5138afbc7p-48, -0x1.0efcd8bc4d22ap-49, 0x1.7d68e5f04a2d1p-52,
    0x1.55915fceb588ap-52,  -0x1.2806c9c773320p-55, -0x1.acea3b2532277p-55,
};
static const double kK0Near[10] = {
    -0x1.12166e9d2f61fp-2, 0x1.608d881213db9p-2,  0x1.26bf6554a9085p-5,  0x1.4b82e75633d73p-10,
    0x1.7f900fe8cfca0p-16, 0x1.102bce7f95efcp-22, 0x1.05c1367e58a13p-29, 0x1.6c25c475120bep-37,
    0x1.7fb0ac384a073p-45, 0x1.3cee1e6b887dcp-53,
};
static const double kK0Far[23] = {
    0x1.385bd9f4e6907p+0,  -0x1.019f72d4ff71ep-5,  0x1.9b891fca79342p-10, -0x1.0d797e7889f42p-13,
    0x1.d413fcc7470a9p-17, -0x1.ebb547f18d3a9p-20, 0x1.2915981e3e46fp-22, -0x1.905541b54f2afp-25,
    0x1.269a0033f428ep-27, -0x1.d29d5f22bf5e2p-30, 0x1.8956c819ff63dp-32, -0x1.5df95d2e7ca15p-34,
    0x1.46808475fbf4dp-36, -0x1.3dafc3f00540bp-38, 0x1.40fa32fcce645p-40, -0x1.4f87721a3b2dbp-42,
    0x1.69c4ecd913e48p-44, -0x1.9145ebaf9922fp-46, 0x1.c8d9c4a6808e8p-48, -0x1.0a690ed1130d0p-49,
    0x1.3dbf96cd7929dp-51, -0x1.82f947bd75936p-53, 0x1.e092e5c062a6ap-55,
};
static const double kK1Near[10] = {
    0x1.867a1361008cap-1,   -0x1.69a1b757b0dd4p-2,  -0x1.f637243c1db74p-4,  -0x1.c92939d7d4192p-8,
    -0x1.6ade2e5a3bd02p-13, -0x1.469b32c832e3ap-19, -0x1.7c41d145c31d0p-26, -0x1.3663bb84626cap-33,
    -0x1.77502ddd0e045p-41, -0x1.5dd517a0399e0p-49,
};
static const double kK1Far[23] = {
    0x1.5c3d7aa062c8ap+0,   0x1.a9abef9e023fbp-4,  -0x1.76946be66b48ap-9,  0x1.9965888f6908ep-13,
    -0x1.44d711dcdb2e5p-16, 0x1.42fe31752d1b6p-19, -0x1.780528fada5c6p-22, 0x1.ed27c668fc461p-25,
    -0x1.637a49fe1e088p-27, 0x1.14f242a73d252p-29, -0x1.ccbc00365cf5fp-32, 0x1.956d008a43059p-34,
    -0x1.76b539401d12cp-36, 0x1.69ab846c05207p-38, -0x1.6adec61fc71a4p-40, 0x1.78ffa0409e616p-42,
    -0x1.94465d4c8014bp-44, 0x1.be3e9590877a3p-46, -0x1.f9d52362a3e00p-48, 0x1.25cedf006519fp-49,
    -0x1.5d2a3d9ce2a50p-51, 0x1.a7d5e4c65543cp-53, -0x1.0661525866f5ap-54,
};
static const double kDawsonNear[30] = {
    0x1.c5bf88a5f14b0p-3,  -0x1.45bf89979c28ep-2,  0x1.ab7f110f77de9p-3,  -0x1.fefe277d6b8aep-4,
    0x1.15fe1fe2dd440p-4,  -0x1.13bc57d12b1f8p-5,  0x1.f410b63cbf9d6p-7,  -0x1.a00bfdaacf5fdp-8,
    0x1.3edaff55a6c54p-9,  -0x1.c409e8e0e013dp-11, 0x1.298cc8b65b18ap-12, -0x1.6d255517d468cp-14,
    0x1.a335b419bc716p-16, -0x1.c3c5a76da5e32p-18, 0x1.ca7319897900bp-20, -0x1.b7594ef2423abp-22,
    0x1.8eb1c963ca04ap-24, -0x1.57731f765a815p-26, 0x1.197fbc1ebb7cep-28, -0x1.b7fb9a62066a3p-31,
    0x1.48804be136212p-33, -0x1.d58010fbab11bp-36, 0x1.41abcf31b5a45p-38, -0x1.a744538a5b7c7p-41,
    0x1.0bcf0dd546bafp-43, -0x1.465d7db3342cbp-46, 0x1.7f83f7d7255f0p-49, -0x1.b31976b7758c1p-52,
    0x1.dd1b2d773a13cp-55, -0x1.fa34b20104378p-58,
};
static const double kDawsonFar[26] = {
    0x1.0453e06d491e0p+0,   0x1.1c88664782acbp-6,   0x1.fc87e5a1534ecp-12,  0x1.a72ebe42f3c64p-16,
    0x1.1e461d1e674cep-19,  0x1.23a99fd495526p-22,  0x1.74fb73dec6968p-25,  0x1.8a09f6daee138p-28,
    -0x1.a21bb93012865p-32, -0x1.549ac4db378f2p-31, -0x1.c4bdcfb1b88e8p-33, -0x1.b8888e5abdfa0p-37,
    0x1.2d49d734ca03cp-36,  0x1.aadcf7ce26c53p-38,  -0x1.1c22586b0d8fep-41, -0x1.da126b9f708ebp-41,
    -0x1.8f1f26a699f7cp-44, 0x1.ba5ccc7a7e306p-44,  0x1.bd439e7b2505bp-46,  -0x1.a11f47a326ca1p-47,
    -0x1.48f99ff441bcbp-48, 0x1.b8406eb8fbd45p-50,  0x1.bc0d9974ccdf8p-51,  -0x1.14af7c914ae05p-52,
    -0x1.2327eeff6f078p-53, 0x1.9d203aaca578dp-55,
};
static const double kSpence[25] = {
    0x1.03d3368ee1111p+0,  0x1.0d45741bfdb0dp-3,  0x1.f5ca8ce086429p-7,  0x1.29d202681b8adp-9,
    0x1.93df229e3cd31p-12, 0x1.29f03943fe014p-14, 0x1.d1ec96c482ac6p-17, 0x1.7c285ded79ad6p-19,
    0x1.406be4a5de9cap-21, 0x1.15133676e0520p-23, 0x1.e933bbe4fde0ap-26, 0x1.b74c89f714abbp-28,
    0x1.902c79e7fbc8dp-30, 0x1.70ffd8eed846dp-32, 0x1.57d712c018043p-34, 0x1.43551e1a8080dp-36,
    0x1.327e2801a4f91p-38, 0x1.2498acac33abdp-40, 0x1.1919818c5cf3cp-42, 0x1.0f9696ba7f96ap-44,
    0x1.07bdf71f21d26p-46, 0x1.014f899112ce7p-48, 0x1.f8314bf2b4fffp-51, 0x1.efe1cf7928207p-53,
    0x1.e96fb6a06be94p-55,
};
static const double kFresnelC[12] = {
    0x1.0e7c6ff229184p-1,  -0x1.81cdf3687419ep-2,  0x1.5db0e45b19d8ep-4,  -0x1.273f89f448a1dp-7,
    0x1.1ac155beef98fp-11, -0x1.5c2280566ab56p-16, 0x1.2ac079df18f68p-21, -0x1.79f36082bd163p-27,
    0x1.6f28ff5c0ec11p-33, -0x1.1a901db790501p-39, 0x1.611c6c6ab4e86p-46, -0x1.6d748a54386ccp-53,
};
static const double kFresnelS[12] = {
    0x1.41d120917f89dp-2,  -0x1.7480955e215b4p-3,  0x1.a08e530156b4dp-6,  -0x1.f7b2e0b00a8dbp-10,
    0x1.781556deb7eb0p-14, -0x1.7bf1a55b26a3bp-19, 0x1.14b48d90042f2p-24, -0x1.303dc7ccb7a5cp-30,
    0x1.057605a61811bp-36, -0x1.68ebc2cba3247p-43, 0x1.98f1065a43362p-50, -0x1.832b94c19aa1dp-57,
};
static const double kFresnelF[28] = {
    0x1.417ee353ec364p-2,   -0x1.6bb387567a1e6p-8,  -0x1.120dfc45907b0p-10, 0x1.3fdf04c670d28p-13,
    -0x1.8dbdcde89e7aep-18, -0x1.5c3af542a7253p-19, 0x1.ba3854cc3e3a6p-21,  -0x1.0c51c660a865bp-23,
    -0x1.7873ae3974cb2p-31, 0x1.f3892ece8d04cp-28,  -0x1.73d8f97335a0fp-29, 0x1.425cf768ea4c1p-31,
    -0x1.8aa556486066bp-35, -0x1.f16cd65f82428p-36, 0x1.32ad1cfb6ca2bp-36,  -0x1.a3d37e639d867p-38,
    0x1.751003354e970p-40,  -0x1.5a2690e5561a0p-44, -0x1.d5eb1e8837f3ap-44, 0x1.31efc3d642aaep-44,
    -0x1.e50e6832eb769p-46, 0x1.101db9ef80ee4p-47,  -0x1.42a14d53e2121p-50, -0x1.68d7b71ff3c1ap-52,
    0x1.9749c43ae83c9p-52,  -0x1.a8f7287b7a071p-53, 0x1.426a60fee3ac2p-54,  -0x1.631fa13c979b4p-56,
};
static const double kFresnelG[33] = {
    0x1.86869f440dcd9p-4,   -0x1.e65060ab1d877p-8,  -0x1.265101d45bc50p-10, 0x1.38dff5aa385d4p-12,
    -0x1.da42a89efe077p-16, -0x1.02cb0a75e2c48p-18, 0x1.3a9cb25b70496p-19,  -0x1.25e47465ef574p-21,
    0x1.c2547e0f9d0f8p-25,  0x1.2089cd0222142p-26,  -0x1.7344d0c471c03p-27, 0x1.cdd5355587055p-29,
    -0x1.4c26eaf7f28bfp-31, -0x1.857f588b37df6p-36, 0x1.38779a342b8d3p-34,  -0x1.3219fa84748bcp-35,
    0x1.82c785d4ba28bp-37,  -0x1.2a9f6db2fe98bp-39, -0x1.d03a839e29131p-44, 0x1.6ec3f942f6941p-42,
    -0x1.9cbd386714685p-43, 0x1.3930a01fc40b0p-44,  -0x1.4d83c27ddef97p-46, 0x1.20a2f4fbc0f49p-49,
    0x1.938f71acb4997p-50,  -0x1.640b2f0715e9fp-50, 0x1.665c3cbc04dc5p-51,  -0x1.0ca88738476e5p-52,
    0x1.1fe89deb6f8c8p-54,  -0x1.aa62fbe2f5a67p-58, -0x1.d644b86fc144cp-58, 0x1.9f9ddc4bfe568p-58,
    -0x1.bfa86da712b19p-59,
};

#endif /* AUTOFUSE_HOST_SPECIAL_TABLES_H_ */
