"""Whole models as users build them from many layers: those of Keras's own tutorials, made small.

A row of MODELS is a function without arguments that gives the model and the specs of its inputs (see vocabulary.py). In all
of them dropout has the rate 0, so that training can be compared, too."""
import keras
from keras import layers, ops
from keras.src.applications.convnext import ConvNeXt


def input_of(spec, name=None):
    dtype = "int32" if "high" in spec else "float32"
    return keras.Input(spec["shape"], dtype=dtype, name=name)


def text_bidirectional():
    """Two bidirectional LSTMs over masked ids (imdb)."""
    ids = {"shape": (9,), "high": 30}
    x = given = input_of(ids)
    x = layers.Embedding(30, 8, mask_zero=True)(x)
    x = layers.Bidirectional(layers.LSTM(6, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(5))(x)
    return keras.Model(given, layers.Dense(1, activation="sigmoid")(x)), [ids]


def text_convolution():
    """Conv1D over embedded ids (text classification from scratch)."""
    ids = {"shape": (20,), "high": 30}
    x = given = input_of(ids)
    x = layers.Embedding(30, 8)(x)
    x = layers.Dropout(0.0)(x)
    x = layers.Conv1D(10, 3, padding="valid", activation="relu", strides=2)(x)
    x = layers.Conv1D(10, 3, padding="same", activation="relu")(x)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dense(6, activation="relu")(x)
    return keras.Model(given, layers.Dense(1, activation="sigmoid", name="predictions")(x)), [ids]


def text_transformer():
    """A Transformer block with positions that are learned."""
    ids = {"shape": (7,), "high": 20}
    given = input_of(ids)
    positions = ops.arange(0, 7, 1)
    x = layers.Embedding(20, 8)(given) + layers.Embedding(7, 8)(positions)
    attended = layers.MultiHeadAttention(num_heads=2, key_dim=4)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization(epsilon=1e-6)(x + attended)
    fed = keras.Sequential([layers.Dense(16, activation="gelu"), layers.Dense(8)])(x)
    x = layers.LayerNormalization(epsilon=1e-6)(x + fed)
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(given, layers.Dense(3, activation="softmax")(x)), [ids]


def masked_transformer():
    """Attention over masked steps, then a mean that leaves them out."""
    ids = {"shape": (7,), "high": 20}
    given = input_of(ids)
    x = layers.Embedding(20, 8, mask_zero=True)(given)
    attended = layers.MultiHeadAttention(num_heads=2, key_dim=3, value_dim=5)(x, x)
    x = layers.Add()([x, attended])
    x = layers.LayerNormalization()(x)
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(given, layers.Dense(4)(x)), [ids]


def series_transformer():
    """The time series transformer: Conv1D in place of dense layers."""
    steps = {"shape": (12, 3)}
    x = given = input_of(steps)
    for _ in range(2):
        residual = x
        x = layers.MultiHeadAttention(key_dim=4, num_heads=2, dropout=0.0)(x, x)
        x = layers.LayerNormalization(epsilon=1e-6)(x)
        residual = x + residual
        x = layers.Conv1D(filters=4, kernel_size=1, activation="relu")(residual)
        x = layers.Conv1D(filters=3, kernel_size=1)(x)
        x = layers.LayerNormalization(epsilon=1e-6)(x) + residual
    x = layers.GlobalAveragePooling1D(data_format="channels_last")(x)
    return keras.Model(given, layers.Dense(2, activation="softmax")(x)), [steps]


def series_convolution():
    """The time series classifier of three convolutions with batch normalization."""
    steps = {"shape": (15, 1)}
    x = given = input_of(steps)
    for _ in range(3):
        x = layers.Conv1D(filters=6, kernel_size=3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(given, layers.Dense(2, activation="softmax")(x)), [steps]


def wavenet():
    """Causal dilated convolutions with gates and sums of what each leaves behind."""
    steps = {"shape": (16, 2)}
    given = input_of(steps)
    x = layers.Conv1D(6, 2, padding="causal")(given)
    kept = []
    for rate in (1, 2, 4):
        gate = layers.Conv1D(6, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        y = layers.Conv1D(6, 2, padding="causal", dilation_rate=rate, activation="tanh")(x)
        y = layers.Multiply()([gate, y])
        y = layers.Conv1D(6, 1)(y)
        kept.append(y)
        x = layers.Add()([x, y])
    x = layers.Activation("relu")(layers.Add()(kept))
    return keras.Model(given, layers.Conv1D(3, 1)(x)), [steps]


def sequence_to_sequence():
    """An encoder's states start the decoder (character-level translation)."""
    first, second = {"shape": (6, 5)}, {"shape": (4, 7)}
    a, b = input_of(first), input_of(second)
    _, h, c = layers.LSTM(8, return_state=True)(a)
    y, _, _ = layers.LSTM(8, return_sequences=True, return_state=True)(b, initial_state=[h, c])
    return keras.Model([a, b], layers.Dense(7, activation="softmax")(y)), [first, second]


def addition():
    """A sequence to sequence model with RepeatVector (number addition)."""
    steps = {"shape": (7, 4)}
    model = keras.Sequential([
        keras.Input(steps["shape"]), layers.LSTM(9), layers.RepeatVector(3),
        layers.GRU(9, return_sequences=True), layers.TimeDistributed(layers.Dense(4, activation="softmax"))])
    return model, [steps]


def next_frame():
    """ConvLSTM2D with batch normalization, then Conv3D (next-frame prediction)."""
    frames = {"shape": (4, 6, 6, 1)}
    x = given = input_of(frames)
    x = layers.ConvLSTM2D(4, (3, 3), padding="same", return_sequences=True, activation="relu")(x)
    x = layers.BatchNormalization()(x)
    x = layers.ConvLSTM2D(3, (1, 1), padding="same", return_sequences=True, activation="relu")(x)
    x = layers.Conv3D(1, (3, 3, 3), activation="sigmoid", padding="same")(x)
    return keras.Model(given, x), [frames]


def scan_volumes():
    """Conv3D over volumes (CT scans)."""
    volume = {"shape": (12, 12, 8, 1)}
    x = given = input_of(volume)
    for filters in (4, 6):
        x = layers.Conv3D(filters=filters, kernel_size=3, activation="relu")(x)
        x = layers.MaxPool3D(pool_size=2, padding="same")(x)
        x = layers.BatchNormalization()(x)
    x = layers.GlobalAveragePooling3D()(x)
    return keras.Model(given, layers.Dense(1, activation="sigmoid")(x)), [volume]


def autoencoder():
    """A convolutional autoencoder."""
    image = {"shape": (8, 8, 1)}
    x = given = input_of(image)
    x = layers.Conv2D(6, (3, 3), activation="relu", padding="same")(x)
    x = layers.MaxPooling2D((2, 2), padding="same")(x)
    x = layers.Conv2DTranspose(6, (3, 3), strides=2, activation="relu", padding="same")(x)
    return keras.Model(given, layers.Conv2D(1, (3, 3), activation="sigmoid", padding="same")(x)), [image]


def segmentation():
    """The U-Net like Xception for segmentation."""
    image = {"shape": (16, 16, 3)}
    given = input_of(image)
    x = layers.Conv2D(4, 3, strides=2, padding="same")(given)
    x = layers.BatchNormalization()(x)
    before = x = layers.Activation("relu")(x)
    for filters in (6,):
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(filters, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        residual = layers.Conv2D(filters, 1, strides=2, padding="same")(before)
        before = x = layers.add([x, residual])
    for filters in (6, 4):
        x = layers.Activation("relu")(x)
        x = layers.Conv2DTranspose(filters, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.UpSampling2D(2)(x)
        residual = layers.Conv2D(filters, 1, padding="same")(layers.UpSampling2D(2)(before))
        before = x = layers.add([x, residual])
    return keras.Model(given, layers.Conv2D(3, 3, activation="softmax", padding="same")(x)), [image]


def vision_transformer():
    """Patches by a convolution, a class token left out, positions added."""
    image = {"shape": (8, 8, 3)}
    given = input_of(image)
    x = layers.Rescaling(1 / 127.5, offset=-1)(given)
    x = layers.Conv2D(8, 4, strides=4)(x)
    x = layers.Reshape((-1, 8))(x)
    x = x + layers.Embedding(4, 8)(ops.expand_dims(ops.arange(4), 0))
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    x = layers.Add()([layers.MultiHeadAttention(num_heads=2, key_dim=8)(y, y), x])
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.Dense(8, activation=keras.activations.gelu)(layers.Dense(16, activation="gelu")(y))
    x = layers.Flatten()(layers.Add()([y, x]))
    return keras.Model(given, layers.Dense(5)(x)), [image]


def mixer():
    """MLP-Mixer: dense layers over channels, then over patches."""
    patches = {"shape": (6, 8)}
    given = input_of(patches)
    x = layers.LayerNormalization(epsilon=1e-6)(given)
    y = layers.Permute((2, 1))(x)
    y = layers.Dense(6)(layers.Dense(6, activation="gelu")(y))
    x = layers.Permute((2, 1))(y) + given
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    x = layers.Dense(8)(layers.Dense(8, activation="gelu")(y)) + x
    return keras.Model(given, layers.Dense(3)(layers.GlobalAveragePooling1D()(x))), [patches]


def conv_mixer():
    """ConvMixer: depthwise convolutions with residuals, gelu, then batch normalization."""
    image = {"shape": (8, 8, 3)}
    given = input_of(image)
    x = layers.Rescaling(scale=1.0 / 255)(given)
    x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(6, kernel_size=2, strides=2)(x)))
    kept = x
    x = layers.DepthwiseConv2D(kernel_size=3, padding="same")(x)
    x = layers.Add()([layers.BatchNormalization()(layers.Activation("gelu")(x)), kept])
    x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(6, kernel_size=1)(x)))
    return keras.Model(given, layers.Dense(4, activation="softmax")(layers.GlobalAvgPool2D()(x))), [image]


def super_resolution():
    """Pixels from channels (sub-pixel convolution)."""
    image = {"shape": (6, 6, 1)}
    given = input_of(image)
    x = layers.Conv2D(8, 5, activation="relu", padding="same", kernel_initializer="orthogonal")(given)
    x = layers.Conv2D(4, 3, activation="relu", padding="same")(x)
    x = layers.Reshape((6, 6, 2, 2, 1))(x)
    x = layers.Permute((1, 3, 2, 4, 5))(x)
    return keras.Model(given, layers.Reshape((12, 12, 1))(x)), [image]


def siamese():
    """A shared network, and the distance between its two results."""
    image = {"shape": (8, 8, 1)}
    a, b = input_of(image), input_of(image)
    inner = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 5, activation="tanh"),
                              layers.AveragePooling2D(pool_size=2), layers.Flatten(), layers.Dense(5, activation="tanh")])
    squared = ops.sum(ops.square(inner(a) - inner(b)), axis=1, keepdims=True)
    distance = ops.sqrt(ops.maximum(squared, keras.backend.epsilon()))
    x = layers.BatchNormalization()(distance)
    return keras.Model([a, b], layers.Dense(1, activation="sigmoid")(x)), [image, image]


def variational_mean():
    """The encoder of a variational autoencoder and its two outputs."""
    image = {"shape": (8, 8, 1)}
    given = input_of(image)
    x = layers.Conv2D(4, 3, activation="relu", strides=2, padding="same")(given)
    x = layers.Dense(6, activation="relu")(layers.Flatten()(x))
    mean, log_variance = layers.Dense(2, name="z_mean")(x), layers.Dense(2, name="z_log_var")(x)
    return keras.Model(given, [mean, ops.exp(0.5 * log_variance) * 0.1 + mean]), [image]


def two_towers():
    """A recommender: two embeddings with biases, and their dot product."""
    ids = {"shape": (1,), "high": 12}
    user, item = input_of(ids, "user"), input_of(ids, "item")
    u = layers.Flatten()(layers.Embedding(12, 5, embeddings_regularizer="l2")(user))
    v = layers.Flatten()(layers.Embedding(12, 5)(item))
    bias = layers.Flatten()(layers.Embedding(12, 1)(user))
    x = layers.Dot(axes=1)([u, v])
    return keras.Model([user, item], keras.activations.sigmoid(x + bias)), [ids, ids]


def tickets():
    """Several inputs and outputs of other kinds (issue tickets)."""
    title, body, tags = {"shape": (6,), "high": 30}, {"shape": (8,), "high": 30}, {"shape": (5,)}
    t, b, g = input_of(title, "title"), input_of(body, "body"), input_of(tags, "tags")
    x = layers.concatenate([layers.LSTM(6)(layers.Embedding(30, 4)(t)), layers.GRU(5)(layers.Embedding(30, 4)(b)), g])
    priority = layers.Dense(1, name="priority")(x)
    return keras.Model([t, b, g], [priority, layers.Dense(4, name="department")(x)]), [title, body, tags]


def gated_network():
    """Gated linear units and residuals over features (structured data)."""
    row = {"shape": (9,)}
    given = input_of(row)
    x = layers.Dense(8, activation="elu")(given)
    gate = layers.Dense(8, activation="sigmoid")(x)
    x = layers.LayerNormalization()(layers.Dense(8)(given) + layers.Dense(8)(x) * gate)
    weights = layers.Softmax()(layers.Dense(4)(x))
    stacked = layers.Reshape((4, 2))(x)
    x = ops.squeeze(ops.matmul(ops.transpose(stacked, (0, 2, 1)), ops.expand_dims(weights, -1)), axis=-1)
    return keras.Model(given, layers.Dense(1)(x)), [row]


def deep_and_cross():
    """Crosses of the inputs with themselves beside a deep part."""
    row = {"shape": (6,)}
    given = input_of(row)
    cross = given
    for _ in range(2):
        cross = given * layers.Dense(6)(cross) + cross
    deep = layers.ReLU()(layers.BatchNormalization()(layers.Dense(5)(given)))
    return keras.Model(given, layers.Dense(3, activation="softmax")(layers.concatenate([cross, deep]))), [row]


def graph_attention():
    """A mask given as an input, scores returned."""
    nodes, allowed = {"shape": (5, 4)}, {"shape": (5, 5), "high": 2}
    a, m = input_of(nodes), input_of(allowed)
    keep = ops.cast(m, "bool")
    x, scores = layers.MultiHeadAttention(2, 3)(a, a, attention_mask=keep, return_attention_scores=True)
    return keras.Model([a, m], [layers.LeakyReLU(0.2)(x), ops.mean(scores, axis=1)]), [nodes, allowed]


def generator():
    """The generator of a GAN: a vector becomes an image."""
    noise = {"shape": (6,)}
    model = keras.Sequential([
        keras.Input((6,)), layers.Dense(2 * 2 * 6), layers.Reshape((2, 2, 6)),
        layers.Conv2DTranspose(6, kernel_size=4, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2DTranspose(8, kernel_size=4, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2D(3, kernel_size=5, padding="same", activation="sigmoid")])
    return model, [noise]


def squeeze_excitation():
    """A channel's gate from its mean, with keepdims; nested twice."""
    image = {"shape": (8, 8, 4)}
    block_in = keras.Input((8, 8, 4))
    s = layers.GlobalAveragePooling2D(keepdims=True)(block_in)
    s = layers.Conv2D(4, 1, activation="hard_sigmoid")(layers.Conv2D(2, 1, activation="relu")(s))
    block = keras.Model(block_in, layers.Multiply()([block_in, s]), name="block")
    outer_in = keras.Input((8, 8, 4))
    outer = keras.Model(outer_in, block(layers.ZeroPadding2D(1)(outer_in)[:, 1:-1, 1:-1, :]), name="outer")
    given = input_of(image)
    x = outer(outer(given))
    return keras.Model(given, layers.GlobalMaxPooling2D()(layers.Activation("swish")(x))), [image]


def frames_in_time():
    """A convolutional network at each step, then a GRU (video classification)."""
    frames = {"shape": (4, 8, 8, 2)}
    inner = keras.Sequential([keras.Input((8, 8, 2)), layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(),
                              layers.Flatten()], name="inner")
    given = input_of(frames)
    x = layers.TimeDistributed(inner)(given)
    x = layers.GRU(6, return_sequences=True)(x)
    x = layers.GRU(4)(x)
    return keras.Model(given, layers.Dense(3, activation="softmax")(layers.Dropout(0.0)(x))), [frames]


def attention_over_steps():
    """Additive attention of a GRU's last state over its steps."""
    steps = {"shape": (6, 4)}
    given = input_of(steps)
    whole, last = layers.GRU(5, return_sequences=True, return_state=True)(given)
    query = layers.Reshape((1, 5))(last)
    context = layers.AdditiveAttention()([query, whole])
    x = layers.Concatenate(axis=-1)([layers.Flatten()(context), last])
    return keras.Model(given, layers.Dense(2)(x)), [steps]


def any_steps():
    """Sequences of any length, merged both ways."""
    ids = {"shape": (7,), "high": 20}
    given = keras.Input((None,), dtype="int32")
    x = layers.Embedding(20, 6, mask_zero=True)(given)
    x = layers.Bidirectional(layers.GRU(5, return_sequences=True), merge_mode="sum")(x)
    x = layers.Bidirectional(layers.LSTM(4), merge_mode="ave")(x)
    return keras.Model(given, layers.Dense(2)(x)), [ids]


def any_images():
    """Images of any size, also within a nested model."""
    image = {"shape": (9, 11, 3)}
    inner_in = keras.Input((None, None, 4))
    inner = keras.Model(inner_in, layers.Add()([layers.Conv2D(4, 3, padding="same")(inner_in), inner_in]), name="inner")
    given = keras.Input((None, None, 3))
    x = layers.Conv2D(4, 3, strides=2, padding="same", use_bias=False)(given)
    x = inner(layers.BatchNormalization()(x))
    return keras.Model(given, layers.Dense(2)(layers.GlobalAveragePooling2D()(x))), [image]


def any_of_several():
    """Two inputs of any length."""
    first, second = {"shape": (5, 3)}, {"shape": (8, 3)}
    a, b = keras.Input((None, 3)), keras.Input((None, 3))
    x = layers.Attention()([layers.Dense(4)(a), layers.Dense(4)(b)])
    return keras.Model([a, b], layers.GRU(3)(x)), [first, second]


def an_input_that_is_an_output():
    row = {"shape": (4,)}
    given = input_of(row)
    return keras.Model(given, [given, layers.Dense(2)(given)]), [row]


def fixed_batch():
    given = keras.Input(batch_shape=(3, 4))
    return keras.Model(given, layers.Dense(2)(given)), [{"shape": (4,)}]


def shared_bidirectional():
    """One layer called twice, the second time from the states of the first."""
    steps = {"shape": (4, 3)}
    a, b = input_of(steps), input_of(steps)
    shared = layers.Bidirectional(layers.LSTM(3, return_state=True))
    x = shared(a)
    y = shared(b, initial_state=x[1:])
    return keras.Model([a, b], [y[0], x[0]]), [steps, steps]


def indices_and_ops():
    steps = {"shape": (6, 4)}
    given = input_of(steps)
    x = given[:, 1:5:2, ::-1]
    first, second = ops.split(given, 2, axis=-1)
    stacked = ops.stack([first, second], axis=1)
    kept = ops.where(given > 0.0, given, ops.zeros_like(given))
    y = ops.concatenate([ops.max(stacked, axis=1), ops.softmax(kept)[..., :2]], axis=-1)
    z = ops.clip(ops.tanh(kept) ** 2, 0.1, 0.9)
    return keras.Model(given, [x, ops.reshape(y, (-1, 24)), z, ops.logsumexp(given, axis=1)]), [steps]


def preprocessed():
    """The arithmetic of preprocess_input."""
    image = {"shape": (8, 8, 3)}
    given = input_of(image)
    x = keras.applications.resnet50.preprocess_input(given * 255.0)
    y = keras.applications.mobilenet_v2.preprocess_input(given * 255.0)
    return keras.Model(given, layers.GlobalAveragePooling2D()(layers.Concatenate()([x, y]))), [image]


def nested_sequential():
    """Without an Input: built by a shape."""
    model = keras.Sequential([layers.Dense(4, activation="relu"),
                              keras.Sequential([layers.Dense(3), layers.PReLU()]), layers.Dense(2)])
    model.build((None, 5))
    return model, [{"shape": (5,)}]


def rules_and_wrappers():
    row = {"shape": (6,)}
    return keras.Sequential([
        keras.Input((6,)), layers.Dense(4, kernel_regularizer=keras.regularizers.OrthogonalRegularizer(0.01)),
        layers.SpectralNormalization(layers.Dense(3)), layers.GaussianNoise(0.0), layers.UnitNormalization(),
        layers.ActivityRegularization(l1=0.1), layers.Softmax()]), [row]


def attention_by_einsum():
    steps = {"shape": (4, 6)}
    given = input_of(steps)
    q, k = layers.Dense(6)(given), layers.Dense(6)(given)
    scores = ops.einsum("bqd,bkd->bqk", q, k) / ops.sqrt(6.0)
    y = ops.matmul(ops.softmax(scores, axis=-1), given)
    best = ops.one_hot(ops.argmax(scores, axis=-1), 4)
    return keras.Model(given, [y, ops.top_k(scores, k=2)[0], ops.cumsum(given, axis=1), best]), [steps]


def stacked_cells():
    steps = {"shape": (5, 3)}
    given = input_of(steps)
    x = layers.RNN([layers.LSTMCell(4), layers.GRUCell(3), layers.SimpleRNNCell(2)], return_sequences=True)(given)
    cells = layers.StackedRNNCells([layers.GRUCell(3, reset_after=False), layers.GRUCell(2)])
    return keras.Model(given, [x, layers.RNN(cells, go_backwards=True)(x)]), [steps]


def rows_and_columns():
    """Options of convolutions that are seldom seen together."""
    image = {"shape": (9, 7, 4)}
    given = input_of(image)
    x = layers.Conv2D(8, (3, 2), groups=2, dilation_rate=(2, 1), padding="same", activation="mish")(given)
    x = layers.GroupNormalization(groups=4)(x)
    x = layers.Conv2DTranspose(4, (2, 3), strides=(2, 1), output_padding=(1, 0), activation="selu")(x)
    x = layers.SpatialDropout2D(0.0)(layers.Cropping2D(((1, 0), (0, 2)))(x))
    return keras.Model(given, layers.AveragePooling2D((2, 3), strides=1, padding="same")(x)), [image]


def residuals_in_time():
    """A model with a branch at each step, then a recurrent layer within another TimeDistributed."""
    frames = {"shape": (3, 6, 6, 2)}
    given, inner_in = input_of(frames), keras.Input((6, 6, 2))
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(inner_in)
    x = layers.BatchNormalization()(x)
    x = layers.Concatenate(axis=3)([layers.Add()([x, layers.Conv2D(4, 1)(inner_in)]), inner_in])
    inner = keras.Model(inner_in, layers.Reshape((6, 36))(x), name="backbone")
    x = layers.TimeDistributed(inner)(given)
    x = layers.TimeDistributed(layers.Bidirectional(layers.GRU(2)))(x)
    return keras.Model(given, layers.LSTM(3)(x)), [frames]


def convnext():
    """keras.applications.convnext with few blocks and channels: models within the model, and its own two layers."""
    image = {"shape": (33, 40, 3)}
    model = ConvNeXt(depths=[1, 1, 1, 1], projection_dims=[4, 6, 8, 12], layer_scale_init_value=0.5,
                     include_preprocessing=False, weights=None, input_shape=image["shape"], classes=3, name="convnext_few")
    return model, [image]


MODELS = {name: function for name, function in list(globals().items())
          if callable(function) and getattr(function, "__module__", None) == __name__ and name != "input_of"}
