"""What docs/keras.md says of names that liana leaves out, and of those that are not quite Keras's."""

LEFT_OUT = {
    "activations": {},
    "losses": {},
    "metrics": {},
    "optimizers": {},
    "callbacks": {},
}
DIFFERS = {
    "layers": {},
}
