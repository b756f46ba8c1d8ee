"""Draws pairs of versions to compare: pairs.py OUT PYPI.zip GO.zip writes OUT/ECOSYSTEM.pairs.

PyPI and Go versions come from the OSV archives given, those of other ecosystems
and the edge cases from a seeded generator. Each pair is two versions near each
other, since far ones tell an order little.
"""
import json, pathlib, random, re, sys, zipfile

ROWS = 4000
rng = random.Random(20260801)
pick = rng.choice
number = lambda: pick(["0", "0", "1", "1", "2", "9", "10", "11", "99", "2024", "18446744073709551615"])
dots = lambda low, high: ".".join(number() for _ in range(rng.randint(low, high)))
maybe = lambda chance, text: text() if rng.random() < chance else ""


def semver(plain):
    word = lambda: pick(["alpha", "beta", "rc", "0", "1", "2", "10", "a", "A", "Z", "rc1", "rc10", "rc2", "x-y", "-", "--1", "1a", "next",
                         "20240101", "99999999999999999"])
    words = lambda: ".".join(word() for _ in range(rng.randint(1, 4)))
    return lambda: plain() + maybe(.6, lambda: "-" + words()) + maybe(.15, lambda: "+" + words())


def pypi():
    tag = lambda names: pick(["", ".", "-", "_"]) + pick(names) + pick(["", ".", "-", ""]) + pick(["", "0", "1", "2", "10", "01"])
    return (maybe(.05, lambda: "v") + maybe(.1, lambda: pick(["0!", "1!", "2!"])) + dots(1, 4)
            + maybe(.4, lambda: tag(["a", "b", "c", "rc", "alpha", "beta", "pre", "preview", "RC", "Alpha"]))
            + maybe(.3, lambda: pick(["-1", "-0", tag(["post", "rev", "r", "POST"])]))
            + maybe(.3, lambda: tag(["dev", "Dev"]))
            + maybe(.2, lambda: "+" + pick([".", "-", "_"]).join(
                pick(["1", "2", "10", "01", "a", "B", "cu118", "ubuntu", "1a", "g0"]) for _ in range(rng.randint(1, 3)))))


def maven():
    word = lambda: pick(["alpha", "beta", "milestone", "rc", "cr", "snapshot", "SNAPSHOT", "final", "Final", "ga", "GA", "release", "RELEASE",
                         "sp", "SP", "a", "b", "m", "M", "RC", "jre", "android", "jdk", "incubating", "redhat", "x", "v", "b", "SR"])
    part = lambda: pick([number, number, word, lambda: word() + number(), lambda: number() + word(), lambda: pick(["00", "01", "007"])])()
    tail = lambda: "".join(pick([".", "-", ".", "-", "_"]) + part() for _ in range(rng.randint(0, 3)))
    return dots(1, 3) + tail()


def maven_usual():
    """What Maven Central is full of."""
    return dots(2, 4) + pick(["", "", ".Final", ".GA", ".RELEASE", "-SNAPSHOT", "-jre", "-android", "-incubating", ".jre8", ".jre11",
                              "-" + pick(["rc", "RC", "alpha", "beta", "M", "b", "m", "cr"]) + pick(["", "-"]) + number(),
                              "." + pick(["CR", "Alpha", "Beta", "SP", "M", "RC", "SR", "v"]) + number(),
                              ".redhat-0000" + pick("1239"), "-1", "-b01", ".v20240101", "-20240101.120000-1"])


def gem():
    word = lambda: pick(["a", "b", "alpha", "beta", "pre", "rc", "rc1", "rc10", "beta2", "dev", "java", "x86", "1a", "A", "z"])
    part = lambda: pick([number, number, number, word, word, lambda: word() + number(), lambda: pick(["00", "01"])])()
    return dots(1, 4) + "".join("." + part() for _ in range(rng.randint(0, 3))) + maybe(.15, lambda: "-" + part() + maybe(.3, lambda: "." + part()))


def composer():
    stability = lambda: pick(["", ".", "-", "_"]) + pick(["alpha", "beta", "a", "b", "RC", "rc", "patch", "p", "pl", "Alpha", "BETA"]) + maybe(
        .7, lambda: pick(["", ".", "-"]) + pick(["0", "1", "2", "9", "10", "99", "01"]))
    small = lambda: pick(["0", "1", "2", "9", "10", "11", "99", "2024", "01"])
    return (maybe(.15, lambda: "v") + ".".join(small() for _ in range(rng.randint(1, 4))) + maybe(.5, stability)
            + maybe(.08, lambda: pick(["-dev", ".dev", "dev"])) + maybe(.05, lambda: "+" + pick(["1", "build.5", "abc"])))


MADE = {"pypi": [pypi], "npm": [semver(lambda: dots(3, 3))], "cargo": [semver(lambda: dots(3, 3))],
        "go": [lambda: "v" + semver(lambda: pick([dots(3, 3), dots(3, 3), dots(1, 2)]))()], "maven": [maven, maven_usual], "gem": [gem], "composer": [composer]}


def neighbour(version, make):
    """Another version that shares most of its text."""
    other = make()
    tokens, others = re.findall(r"\d+|[A-Za-z]+|.", version), re.findall(r"\d+|[A-Za-z]+|.", other)
    at, how = rng.randrange(len(tokens)), rng.random()
    if how < .3:
        tokens[at] = pick([t for t in others if t[0].isalnum()])
    elif how < .5:
        del tokens[at:at + rng.randint(1, 2)]
    elif how < .7:
        tokens += others[-rng.randint(1, len(others)):]
    elif how < .85:
        tokens = tokens[:at] + others[min(at, len(others) - 1):]
    else:
        return other
    return "".join(tokens)


def real(archive, ecosystem):
    """The versions of each package that the archive names, in a stable order."""
    packages = {}
    with zipfile.ZipFile(archive) as files:
        for name in sorted(files.namelist()):
            for affected in json.loads(files.read(name)).get("affected", []):
                package = affected.get("package", {})
                if package.get("ecosystem") != ecosystem:
                    continue
                found = packages.setdefault(package["name"], set())
                found.update(affected.get("versions", []))
                for span in affected.get("ranges", []):
                    if span["type"] != "GIT":
                        found.update(v for event in span["events"] for v in event.values())
    return [sorted(found) for _, found in sorted(packages.items()) if len(found) > 1]


def real_pairs(archive, ecosystem):
    packages = real(archive, ecosystem)
    while True:
        versions = pick(packages)
        a = pick([v for v in versions if re.search("[a-z]", v, re.I)] or versions)  # pre-releases are rare and telling
        yield a, pick(versions)


def made_pairs(makers):
    while True:
        make = pick(makers)
        a = make()
        yield a, neighbour(a, make)


def write(path, *sources):
    rows = {}
    while len(rows) < ROWS:
        a, b = next(pick(sources))
        # Maven alone takes a word for a version; we do not.
        if re.search(r"\d", a) and re.search(r"\d", b) and a != b and (b, a) not in rows:
            rows[a, b] = True
    path.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")


if __name__ == "__main__":
    out, archives = pathlib.Path(sys.argv[1]), {"pypi": (sys.argv[2], "PyPI"), "go": (sys.argv[3], "Go")}
    for ecosystem, makers in MADE.items():
        more = [real_pairs(*archives[ecosystem])] if ecosystem in archives else []
        write(out / f"{ecosystem}.pairs", made_pairs(makers), *more)
