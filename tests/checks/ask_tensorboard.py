"""What TensorBoard shows of liana's event files, asked over HTTP.

    ask_tensorboard.py make FOLDER    with Keras: data, a model, and what Keras's callback TensorBoard writes of a fit to
                                  FOLDER/logs/keras
    ask_tensorboard.py ask FOLDER     with TensorBoard: starts it on FOLDER/logs, and compares

liana has trained the same model on the same data meanwhile (test_tensorboard.sh): with its callback TensorBoard into
FOLDER/logs/callback, with summaries into FOLDER/logs/run, and a sweep into FOLDER/logs/sweep."""
import csv, io, json, os, re, socket, struct, subprocess, sys, time, urllib.parse, urllib.request

SIDE, CLASSES, BATCH, EPOCHS, RATE = 6, 3, 8, 3, 0.5
COUNTS = {"train": 30, "validation": 11}  # the last batches have 6 and 3 examples
folder = sys.argv[2]
problems = []


def expect(condition, *words):
    if not condition:
        problems.append(" ".join(str(word) for word in words))


# ---- make ----


def pixels(name):
    count, salt = COUNTS[name], len(name)
    return bytes((i * i * 7 + i * 13 + salt * 31) % 256 for i in range(count * SIDE * SIDE))


def labels(name):
    return bytes((i * 5 + i // 4) % CLASSES for i in range(COUNTS[name]))


def make():
    import numpy as np

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import keras

    keras.utils.set_random_seed(3)
    data = []
    for name, count in COUNTS.items():
        with open(f"{folder}/{name}-images", "wb") as file:
            file.write(struct.pack(">IIII", 0x803, count, SIDE, SIDE) + pixels(name))
        with open(f"{folder}/{name}-labels", "wb") as file:
            file.write(struct.pack(">II", 0x801, count) + labels(name))
        x = np.frombuffer(pixels(name), np.uint8).reshape(count, SIDE, SIDE, 1) / np.float32(255)
        data.append((x, np.frombuffer(labels(name), np.uint8).astype(np.int32)))
    model = keras.Sequential([
        keras.Input((SIDE, SIDE, 1), name="image"),
        keras.layers.Conv2D(4, 3, activation="relu", name="conv"),
        keras.layers.Flatten(name="flat"),
        keras.layers.Dense(CLASSES, activation="softmax", name="classes"),
    ])
    model.save(f"{folder}/model.keras")
    model.compile(keras.optimizers.SGD(RATE), "sparse_categorical_crossentropy", metrics=["accuracy"])
    board = keras.callbacks.TensorBoard(f"{folder}/logs/keras", histogram_freq=2, write_images=True,
                                        write_steps_per_second=True, update_freq=2)
    model.fit(*data[0], BATCH, EPOCHS, verbose=0, shuffle=False, validation_data=data[1], callbacks=[board])


# ---- TensorBoard ----


class Board:
    def __init__(self, logs):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        program = os.path.join(os.path.dirname(sys.executable), "tensorboard")
        self.log = open(f"{folder}/tensorboard.log", "w")
        self.address = f"http://127.0.0.1:{port}/data/"
        self.process = subprocess.Popen([program, "--logdir", logs, "--port", str(port), "--host", "127.0.0.1",
                                         "--load_fast=false", "--reload_interval=1", "--samples_per_plugin",
                                         "scalars=10000,images=100"], stdout=self.log, stderr=self.log)

    def bytes(self, path, body=None, **query):
        url = self.address + path + ("?" + urllib.parse.urlencode(query) if query else "")
        request = urllib.request.Request(url, body and json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def ask(self, path, body=None, **query):
        return json.loads(self.bytes(path, body, **query))

    def wait_for(self, runs):
        """Until all runs are there, and their tags do not change any more."""
        seen = None
        for _ in range(240):
            time.sleep(0.5)
            if self.process.poll() is not None:
                sys.exit("TensorBoard ended: " + open(f"{folder}/tensorboard.log").read())
            try:
                tags = [self.ask(f"plugin/{kind}/tags") for kind in ("scalars", "histograms", "images", "text")]
                there = set(self.ask("runs")) >= set(runs)
            except OSError:
                continue
            if there and tags == seen:
                return
            seen = tags
        sys.exit(f"TensorBoard does not show {sorted(runs)} but {self.ask('runs')}")

    def scalars(self, run, tag):
        return {step: value for _, step, value in self.ask("plugin/scalars/scalars", run=run, tag=tag)}

    def histograms(self, run, tag):
        return {step: buckets for _, step, buckets in self.ask("plugin/histograms/histograms", run=run, tag=tag)}

    def images(self, run, tag):
        """Of each step the bytes of its images."""
        found = {}
        for sample in range(100):
            try:
                listed = self.ask("plugin/images/images", run=run, tag=tag, sample=sample)
            except urllib.error.HTTPError:
                break
            if not listed:
                break
            for one in listed:
                data = self.bytes("plugin/images/individualImage?" + one["query"])
                found.setdefault(one["step"], []).append(data)
        return found


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


# ---- against Keras's callback ----


def pixels_of(data):
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    return image.size, list(image.convert("L").getdata())


def compare_scalars(board, run):
    tags = board.ask("plugin/scalars/tags")
    keras, own = set(tags[f"keras/{run}"]), set(tags[f"callback/{run}"])
    expect(keras == own, run, "scalars of Keras", sorted(keras), "of liana", sorted(own))
    for tag in sorted(keras & own):
        left, right = board.scalars(f"keras/{run}", tag), board.scalars(f"callback/{run}", tag)
        expect(left.keys() == right.keys(), run, tag, "steps of Keras", sorted(left), "of liana", sorted(right))
        for step in left.keys() & right.keys():
            same = near(left[step], right[step], 2e-5) if "per_second" not in tag else right[step] > 0
            expect(same, run, tag, "at", step, left[step], right[step])


def compare_histograms(board):
    tags = board.ask("plugin/histograms/tags")
    keras, own = set(tags["keras/train"]), set(tags["callback/train"])
    expect(keras == own, "histograms of Keras", sorted(keras), "of liana", sorted(own))
    for tag in sorted(keras & own):
        left, right = board.histograms("keras/train", tag), board.histograms("callback/train", tag)
        expect(left.keys() == right.keys() == {0, 2}, tag, sorted(left), sorted(right))
        for step in left.keys() & right.keys():
            ends = [(buckets[0][0], buckets[-1][1], sum(b[2] for b in buckets)) for buckets in (left[step], right[step])]
            expect(all(near(a, b, 2e-5) for a, b in zip(*ends)), tag, "at", step, ends)


def compare_images(board):
    tags = board.ask("plugin/images/tags")
    keras, own = set(tags["keras/train"]), set(tags["callback/train"])
    expect(keras == own, "images of Keras", sorted(keras), "of liana", sorted(own))
    for tag in sorted(keras & own):
        left, right = board.images("keras/train", tag), board.images("callback/train", tag)
        expect(left.keys() == right.keys(), tag, sorted(left), sorted(right))
        for step in left.keys() & right.keys():
            for one, other in zip(left[step], right[step]):
                (size, levels), (own_size, own_levels) = pixels_of(one), pixels_of(other)
                expect(size == own_size, tag, "at", step, size, own_size)
                # TensorFlow cuts where liana rounds.
                far = max((abs(a - b) for a, b in zip(levels, own_levels)), default=0)
                expect(far <= 1, tag, "at", step, "differs by", far, "levels")


# ---- summaries ----


def check_curves(board, history):
    for part, prefix in (("train", ""), ("validation", "val_")):
        for tag in ("loss", "accuracy"):
            values = board.scalars(f"run/{part}", tag)
            steps = sorted(values)
            expect(steps == [4, 8, 12], part, tag, "has steps", steps)
            for step, epoch in zip(steps, history["epochs"]):
                expect(near(values[step], epoch[prefix + tag], 1e-6), part, tag, step, values[step], epoch)
    rate = board.scalars("run/train", "learning_rate")
    expect(rate == {step: RATE for step in (1, 2, 4, 6, 8, 10, 12)}, "learning_rate", rate)
    for tag in ("norm/gradient", "norm/weights", "norm/update", "gradient_norm/conv/kernel",
                "weight_norm/classes/bias", "update_norm/classes/kernel", "batch/loss", "speed/examples_per_second"):
        values = board.scalars("run/train", tag)
        expect(sorted(values) == [1, 2, 4, 6, 8, 10, 12], tag, values)
        expect(all(value > 0 for value in values.values()), tag, values)
    # Plain descent: the update is the rate times the gradient.
    gradient, update = board.scalars("run/train", "norm/gradient"), board.scalars("run/train", "norm/update")
    expect(all(near(update[k], RATE * gradient[k], 1e-4) for k in gradient), gradient, update)


def check_histograms(board):
    sizes = {"weights/conv/kernel": 36, "weights/classes/bias": 3, "gradients/classes/kernel": 4 * 4 * 4 * 3,
             "activations/conv": 6 * 4 * 4 * 4, "activations/classes": 6 * 3}
    for tag, size in sizes.items():
        values = board.histograms("run/train", tag)
        expect(sorted(values) == [4, 8, 12], tag, sorted(values))
        for step, buckets in values.items():
            expect(sum(b[2] for b in buckets) == size, tag, step, "has", sum(b[2] for b in buckets), "values")
    # Probabilities.
    last = board.histograms("run/train", "activations/classes")[12]
    expect(0 <= last[0][0] <= last[-1][1] <= 1, "activations/classes", last)


def check_images(board):
    samples = board.images("run/validation", "examples")
    expect(sorted(samples) == [4, 8, 12], "examples", sorted(samples))
    for step, images in samples.items():
        expect(len(images) == 8, "examples at", step, len(images))
        for i, data in enumerate(images):
            size, levels = pixels_of(data)
            wanted = list(pixels("validation")[i * SIDE * SIDE:(i + 1) * SIDE * SIDE])
            expect(size == (SIDE, SIDE) and levels == wanted, "example", i, "at", step)
    matrices = board.images("run/validation", "confusion_matrix")
    expect(sorted(matrices) == [4, 8, 12], "confusion_matrix", sorted(matrices))
    check_matrix(matrices[12][0])


def check_matrix(data):
    from PIL import Image

    with open(f"{folder}/logs/run/validation_predictions.csv") as file:
        rows = list(csv.DictReader(file))
    image = Image.open(io.BytesIO(data)).convert("RGB")
    cell = image.size[0] // CLASSES
    for truth in range(CLASSES):
        own = [row for row in rows if int(row["label"]) == truth]
        for said in range(CLASSES):
            share = sum(int(row["predicted"]) == said for row in own) / len(own)
            red = image.getpixel((said * cell + cell // 2, truth * cell + cell // 2))[0]
            expect(abs(red - (255 - 247 * share)) < 1, "confusion_matrix", truth, said, share, red)


def check_text(board):
    text = board.ask("plugin/text/text", run="run/train", tag="configuration")
    expect(len(text) == 1 and "epochs: 3" in text[0]["text"], "configuration", text)
    table = board.ask("plugin/text/text", run="run/validation", tag="mistakes_table")
    expect(table and "<table>" in table[-1]["text"] and "confidence" in table[-1]["text"], "mistakes_table", table)


def check_graphs(board):
    info = board.ask("plugin/graphs/info")
    for run in ("run/train", "callback/train"):
        expect(info[run]["run_graph"] and info[run]["tags"]["keras"]["conceptual_graph"], "graphs", info)
        ops = board.bytes("plugin/graphs/graph", run=run, conceptual="false").decode()
        for name in (r"conv/\w+", r"classes/\w+"):
            expect(re.search(f'name: "{name}"', ops), "the graph of ops has no", name)
        expect(re.search(r'input: "conv/', ops), "no op reads those of a layer")
        layers = board.bytes("plugin/graphs/graph", run=run, conceptual="true", tag="keras").decode()
        names = re.findall(r'\bname: "([^"]*)"', layers)
        expect([name.split("/")[-1] for name in names] == ["image", "conv", "flat", "classes"], "layers", names)
        expect(layers.count("input:") == 3, "layers that read others", layers)


def check_hparams(board):
    asked = {"experimentName": ""}
    found = board.ask("plugin/hparams/experiment", asked)
    infos = {info["name"]: info for info in found["hparamInfos"]}
    expect(set(infos) == {"train.optimizer.learning_rate", "train.batch_size", "train.epochs"}, "hparams", infos)
    metrics = {(m["name"]["group"], m["name"]["tag"]) for m in found["metricInfos"]}
    expect(("validation", "loss") in metrics, "metrics of the sweep", metrics)
    groups = board.ask("plugin/hparams/session_groups",
                       {"startIndex": 0, "sliceSize": 100, "allowedStatuses": ["STATUS_SUCCESS"], "colParams": []})
    expect(groups["totalSize"] == 4, "settings", groups["totalSize"])
    for group in groups["sessionGroups"]:
        rate, batch = group["hparams"]["train.optimizer.learning_rate"], group["hparams"]["train.batch_size"]
        expect(group["name"] == f"learning_rate={rate:g},batch_size={batch:g}", group["name"], rate, batch)
        expect(len(group["sessions"]) == 2, "seeds of", group["name"], len(group["sessions"]))
        losses = []
        for seed in (1, 2):
            with open(f"{folder}/logs/sweep/{group['name']}/seed-{seed}/history.json") as file:
                losses.append(json.load(file)["epochs"][-1]["val_loss"])
        loss = [m["value"] for m in group["metricValues"] if m["name"] == {"group": "validation", "tag": "loss"}]
        expect(len(loss) == 1 and near(loss[0], sum(losses) / 2, 1e-6), group["name"], loss, losses)


def ask():
    board = Board(f"{folder}/logs")
    try:
        board.wait_for({f"{run}/{part}" for run in ("keras", "callback", "run") for part in ("train", "validation")})
        with open(f"{folder}/logs/run/history.json") as file:
            history = json.load(file)
        for part in ("train", "validation"):
            compare_scalars(board, part)
        compare_histograms(board)
        compare_images(board)
        check_curves(board, history)
        check_histograms(board)
        check_images(board)
        check_text(board)
        check_graphs(board)
        check_hparams(board)
    finally:
        board.process.terminate()
        board.process.wait()
    for problem in problems[:20]:
        print("ask_tensorboard.py:", problem[:2000], file=sys.stderr)
    sys.exit(len(problems) > 0)


{"make": make, "ask": ask}[sys.argv[1]]()
