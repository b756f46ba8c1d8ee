package report

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt"
)

// lockfileKind is one kind of lockfile.
type lockfileKind struct {
	name      string // as path.Match reads it, of the file's base name
	ecosystem string
	read      func(l *lock) error
}

// lockfileKinds maps file names to readers. The first match counts.
var lockfileKinds []lockfileKind

func init() {
	lockfileKinds = []lockfileKind{
		{"package-lock.json", "npm", readPackageLock},
		{"npm-shrinkwrap.json", "npm", readPackageLock},
		{"deno.lock", "npm", readDenoLock}, // packages of JSR are their own ecosystem
		{"yarn.lock", "npm", readYarnLock},
		{"pnpm-lock.yaml", "npm", readPnpmLock},
		{"bun.lock", "npm", readBunLock},
		{"requirements*.txt", "pypi", readRequirements},
		{"*requirements.txt", "pypi", readRequirements},
		{"Pipfile.lock", "pypi", readPipfileLock},
		{"poetry.lock", "pypi", readPoetryLock},
		{"uv.lock", "pypi", readUVLock},
		{"pdm.lock", "pypi", readPoetryLock}, // the same shape
		{"pylock.toml", "pypi", readPylock},
		{"pylock.*.toml", "pypi", readPylock},
		{"environment.yml", "conda", readCondaEnvironment},
		{"environment.yaml", "conda", readCondaEnvironment},
		{"conda-lock.yml", "conda", readCondaLock},
		{"pixi.lock", "conda", readPixiLock},
		{"go.mod", "gomod", readGoMod},
		{"Cargo.lock", "cargo", readCargoLock},
		{"Gemfile.lock", "gem", readGemfileLock},
		{"gems.locked", "gem", readGemfileLock},
		{"composer.lock", "composer", readComposerLock},
		{"pom.xml", "maven", readPOM},
		{"maven_dep_tree.txt", "maven", readMavenTree},
		{"gradle.lockfile", "maven", readGradleLock},
		{"buildscript-gradle.lockfile", "maven", readGradleLock},
		{"verification-metadata.xml", "maven", readGradleVerification},
		{"libs.versions.toml", "maven", readGradleCatalog},
		{"*maven_install.json", "maven", readMavenInstall},
		{"packages.lock.json", "nuget", readNuGetLock},
		{"packages.config", "nuget", readPackagesConfig},
		{"*.deps.json", "nuget", readDepsJSON},
		{"project.assets.json", "nuget", readAssetsJSON},
		{"paket.lock", "nuget", readPaketLock},
		{"Directory.Packages.props", "nuget", readMSBuild},
		{"*.csproj", "nuget", readMSBuild},
		{"*.fsproj", "nuget", readMSBuild},
		{"*.vbproj", "nuget", readMSBuild},
		{"pubspec.lock", "pub", readPubspecLock},
		{"Package.resolved", "swiftpm", readPackageResolved},
		{"Podfile.lock", "cocoapods", readPodfileLock},
		{"mix.lock", "mix", readMixLock},
		{"rebar.lock", "mix", readRebarLock},
		{"manifest.toml", "mix", readGleamManifest}, // in small letters
		{"conan.lock", "conan", readConanLock},
		{"renv.lock", "cran", readRenvLock},
		{"cabal.project.freeze", "hackage", readCabalFreeze},
		{"stack.yaml.lock", "hackage", readStackLock},
		{"Manifest.toml", "julia", readJuliaManifest},
		{"Manifest-v*.toml", "julia", readJuliaManifest},
		{"cpanfile.snapshot", "cpan", readCPANSnapshot},
		{"luarocks.lock", "luarocks", readLuaRocksLock},
		{"nimble.lock", "nimble", readNimbleLock},
		{"*.opam.locked", "opam", readOpamLocked},
	}
}

// IsLockfile reports whether a file of this name or path is read as a lockfile.
func IsLockfile(name string) bool { return lockfileFor(name) != nil }

// lockfileFor finds the kind of a lockfile by its name or path, or nil.
func lockfileFor(name string) *lockfileKind {
	name = base(name)
	for i, kind := range lockfileKinds {
		if ok, _ := path.Match(kind.name, name); ok {
			return &lockfileKinds[i]
		}
	}
	return nil
}

// lockfileNames lists the names that are understood.
func lockfileNames() []string {
	var names []string
	for _, kind := range lockfileKinds {
		names = append(names, kind.name)
	}
	return distinct(names)
}

// lockfileTool is the tool of reports that are a lockfile alone.
const lockfileTool = "lockfile"

// readLockfile makes an inventory of one lockfile.
func readLockfile(in *input, o Options) ([]*redoubt.Report, error) {
	kind := lockfileFor(o.Name)
	if kind == nil && o.secrets.included(o) {
		kind = &pipKind
	}
	if kind == nil {
		return nil, fmt.Errorf("no lockfile has this name; known are %s", strings.Join(lockfileNames(), ", "))
	}
	data, err := in.all()
	if err != nil {
		return nil, err
	}
	l := &lock{
		name: o.Name, options: o, secrets: o.secrets, ecosystem: kind.ecosystem, data: data, seen: map[[3]string]int{}, limit: o.Limits.Items,
		rep: &redoubt.Report{Tool: lockfileTool, Category: text(o.Category).name(), Products: redoubt.Products(0).With(redoubt.SCA)},
	}
	if err := l.plain(); err != nil {
		return nil, err
	}
	if err := kind.read(l); err != nil {
		return nil, err
	}
	if l.full {
		return nil, tooMany("dependencies", l.limit)
	}
	l.trace()
	l.rep.Inventories = []redoubt.Inventory{{Lockfile: fileInRepository(o), Dependencies: l.deps}}
	return []*redoubt.Report{l.rep}, nil
}

// plain makes sure that the file is text. XML says itself how it is encoded;
// comments in requirements may be in any encoding.
func (l *lock) plain() error {
	name := base(l.name)
	if strings.HasSuffix(name, ".xml") || strings.HasSuffix(name, "proj") || strings.HasSuffix(name, ".props") {
		return nil
	}
	for i, c := range l.data {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return &fault{offset: int64(i), err: notA("lockfile", "it holds a control character on line %d", l.lineAt(i))}
		}
	}
	if !strings.HasSuffix(name, ".txt") && !utf8.Valid(l.data) {
		return notA("lockfile", "it is not UTF-8 text")
	}
	return nil
}

// fileInRepository is the path of the file that is read, or its mere name when
// it lies elsewhere.
func fileInRepository(o Options) string {
	var c checkout
	c.addRoot(o.Root)
	if p, err := c.path(o.Name); err == nil {
		return p
	}
	return base(text(o.Name).name())
}

// lock is a lockfile as it is read.
type lock struct {
	name      string
	options   Options
	secrets   *redactor // what the files of the upload share
	ecosystem string
	data      []byte
	rep       *redoubt.Report
	deps      []redoubt.Dependency
	seen      map[[3]string]int // index in deps by ecosystem, name, version
	limit     int
	full      bool
	graph     graph
	breaks    []int // offsets of line ends, once a line is asked for
}

// add takes a dependency. The same version again counts once: as direct if it
// is ever said to be, on the first line that names it.
//
// It returns the index in deps, -1 for what is not taken.
func (l *lock) add(d redoubt.Dependency) int {
	d.Ecosystem = cmp.Or(d.Ecosystem, l.ecosystem)
	d.Name, d.Version = text(d.Name).name(), text(d.Version).name()
	version := spelt(d.Ecosystem, d.Version)
	if d.Name == "" || version == "" {
		return -1
	}
	if d.Transitivity == 0 {
		d.Transitivity = redoubt.TransitivityUnknown
	}
	if d.Licenses = texts(d.Licenses).names(); d.Licenses == nil {
		d.Licenses = []string{}
	}
	if d.PURL == "" {
		d.PURL = purlOf(d.Ecosystem, d.Name, d.Version)
	}
	d.Version = version // the URL has the other spelling
	key := [3]string{d.Ecosystem, d.Name, d.Version}
	if i, ok := l.seen[key]; ok {
		if d.Transitivity == redoubt.Direct {
			l.deps[i].Transitivity = redoubt.Direct
		}
		return i
	}
	if len(l.deps) >= l.limit {
		l.full = true
		return -1
	}
	l.seen[key] = len(l.deps)
	l.deps = append(l.deps, d)
	return len(l.deps) - 1
}

// spelt is a version as scanners and advisories spell it: those of Go modules
// have no v in front there, though they do in go.mod and package URLs.
func spelt(ecosystem, version string) string {
	if ecosystem == "gomod" {
		return strings.TrimPrefix(version, "v")
	}
	return version
}

// refuse notes an entry that names no version, or none that can be read.
func (l *lock) refuse(item, format string, args ...any) {
	reason := oneLine(fmt.Sprintf(format, args...), maxName)
	l.rep.Refused = append(l.rep.Refused, redoubt.Refusal{Item: oneLine(item, maxName), Reason: reason})
}

// lineAt returns the line of a byte, from 1.
func (l *lock) lineAt(offset int) int {
	if l.breaks == nil {
		l.breaks = []int{}
		for i, c := range l.data {
			if c == '\n' {
				l.breaks = append(l.breaks, i)
			}
		}
	}
	return 1 + sort.SearchInts(l.breaks, offset)
}

// numbered goes through the lines of the file, without their ends.
func (l *lock) numbered(yield func(number int, line string) bool) {
	number := 0
	for line := range bytes.Lines(l.data) {
		number++
		if !yield(number, string(bytes.TrimRight(line, "\r\n"))) {
			return
		}
	}
}

// transitivityOf is direct or transitive where the file tells which packages
// the project asked for itself, else unknown.
func transitivityOf(told, direct bool) redoubt.Transitivity {
	switch {
	case !told:
		return redoubt.TransitivityUnknown
	case direct:
		return redoubt.Direct
	}
	return redoubt.Transitive
}
