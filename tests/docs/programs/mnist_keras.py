"""The task of docs/start/from-keras.md in Keras, which the page quotes."""
import keras

(images, labels), (test_images, test_labels) = keras.datasets.mnist.load_data()
images, test_images = images[..., None] / 255, test_images[..., None] / 255

model = keras.Sequential([
    keras.Input((28, 28, 1)),
    keras.layers.Conv2D(32, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Conv2D(64, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dropout(0.5),
    keras.layers.Dense(10, activation="softmax"),
])

model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images, labels, batch_size=128, epochs=2, validation_data=(test_images, test_labels),
          callbacks=[keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)])

loss, accuracy = model.evaluate(test_images, test_labels)
model.save("digits.keras")
print(f"test accuracy {accuracy:.4f}")
