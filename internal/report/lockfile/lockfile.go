package lockfile

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// format is a kind of lockfile.
type format struct {
	name      string // pattern of path.Match for the base name of the file
	ecosystem string
	read      func(l *lock) error
}

// formats maps file names to readers. The first match is used.
var formats []format

func init() {
	formats = []format{
		{"package-lock.json", "npm", readPackageLock},
		{"npm-shrinkwrap.json", "npm", readPackageLock},
		{"deno.lock", "npm", readDenoLock}, // packages of JSR have their own ecosystem
		{"yarn.lock", "npm", readYarnLock},
		{"pnpm-lock.yaml", "npm", readPnpmLock},
		{"bun.lock", "npm", readBunLock},
		{"requirements*.txt", "pypi", readRequirements},
		{"*requirements.txt", "pypi", readRequirements},
		{"Pipfile.lock", "pypi", readPipfileLock},
		{"poetry.lock", "pypi", readPoetryLock},
		{"uv.lock", "pypi", readUVLock},
		{"pdm.lock", "pypi", readPoetryLock}, // the same format
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
		{"manifest.toml", "mix", readGleamManifest}, // in lower case
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

// Is reports whether a name or path is that of a lockfile.
func Is(name string) bool { return formatOf(name) != nil }

// Ecosystem returns the default ecosystem of the packages of a lockfile with a name or path. It is
// empty if the file is not a lockfile.
func Ecosystem(name string) string {
	if kind := formatOf(name); kind != nil {
		return kind.ecosystem
	}
	return ""
}

// formatOf returns the format of a name or path, or nil.
func formatOf(name string) *format {
	name = read.Base(name)
	for i, kind := range formats {
		if ok, _ := path.Match(kind.name, name); ok {
			return &formats[i]
		}
	}
	return nil
}

// sharedNames are names that other tools use for different files. Their readers return a Namesake
// error for those.
var sharedNames = []string{"manifest.toml", "Manifest.toml", "environment.yml", "environment.yaml"}

// IsNamesake reports whether a file shares its name with a lockfile but belongs to another tool.
func IsNamesake(name string, data []byte) bool {
	if !slices.Contains(sharedNames, read.Base(name)) {
		return false
	}
	_, err := new(Upload).Read(File{Name: name, Path: name, Data: data, Limit: 1})
	return read.IsNamesake(err)
}

// Names returns the supported file names and patterns.
func Names() []string {
	var names []string
	for _, kind := range formats {
		names = append(names, kind.name)
	}
	return read.Distinct(names)
}

// Tool is the tool of lockfile reports.
const Tool = model.ToolLockfile

// File is a lockfile to read.
type File struct {
	Name  string // name or path of the file, which determines the reader
	Path  string // path in the repository, or a mere name: the name of the inventory
	Data  []byte // the whole file
	Limit int    // maximum number of packages
}

// Upload reads the lockfiles of one upload, some of which refer to others. The zero Upload is ready
// to use.
type Upload struct {
	pip   pipFiles
	maven mavenFiles
}

// Includes reports whether a requirements file refers to the file with a path in the repository.
// Such a file is a requirements file too, whatever its name.
func (u *Upload) Includes(path string) bool {
	_, known := u.pip.known[path]
	return known
}

// Read returns a report with the inventory of one lockfile. Resolve completes it after all files
// are read.
//
// The error is a *read.PositionError if its position is known and a *read.FormatError if the file does
// not have the format of its name. It wraps model.ErrTooLarge if a limit is exceeded.
func (u *Upload) Read(f File) (*model.Report, error) {
	kind := formatOf(f.Name)
	if kind == nil && u.Includes(f.Path) {
		kind = &pipKind
	}
	if kind == nil {
		return nil, fmt.Errorf("unknown lockfile name; supported names are %s", strings.Join(Names(), ", "))
	}
	l := &lock{
		Packages: Packages{ecosystem: kind.ecosystem, limit: f.Limit}, File: f, upload: u,
		rep: &model.Report{Tool: Tool, Products: model.Products(0).With(model.SCA)},
	}
	if err := l.plain(); err != nil {
		return nil, err
	}
	err := kind.read(l)
	if err == nil && l.full {
		err = fmt.Errorf("dependencies: the list is %w (limit %d)", model.ErrTooLarge, l.limit)
	}
	if err != nil {
		u.pip.drop(l)
		return nil, err
	}
	for _, d := range l.unversioned {
		l.refuse(d.Name, "line %d: it has no version", d.Line)
	}
	l.rep.Inventories = []model.Inventory{l.Inventory(f.Path)}
	return l.rep, nil
}

// Resolve completes the reports with versions that other files of the upload define: pip's
// constraints, and Maven's parents and imports.
func (u *Upload) Resolve() {
	u.pip.resolve()
	u.maven.resolve()
}

// plain returns an error if the file is not text. XML declares its encoding, and comments in
// requirements files may have any encoding.
func (l *lock) plain() error {
	name := read.Base(l.Name)
	if strings.HasSuffix(name, ".xml") || strings.HasSuffix(name, "proj") || strings.HasSuffix(name, ".props") {
		return nil
	}
	for i, c := range l.Data {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return &read.PositionError{
				Offset: int64(i),
				Err:    read.NotA("lockfile", "it has a control character on line %d", l.lineAt(i)),
			}
		}
	}
	if !strings.HasSuffix(name, ".txt") && !utf8.Valid(l.Data) {
		return read.NotA("lockfile", "it is not UTF-8 text")
	}
	return nil
}

// lock is a lockfile that is being read.
type lock struct {
	Packages
	File
	upload *Upload
	rep    *model.Report
	breaks []int // offsets of line ends, computed on first use
}

// refuse adds a refusal for an entry without a valid version.
func (l *lock) refuse(item, format string, args ...any) {
	reason := read.OneLine(fmt.Sprintf(format, args...), read.MaxName)
	l.rep.Refuse(model.Refusal{Item: read.OneLine(item, read.MaxName), Reason: reason})
}

// lineAt returns the line number of an offset, 1-based.
func (l *lock) lineAt(offset int) int {
	if l.breaks == nil {
		l.breaks = []int{}
		for i, c := range l.Data {
			if c == '\n' {
				l.breaks = append(l.breaks, i)
			}
		}
	}
	return 1 + sort.SearchInts(l.breaks, offset)
}

// numbered iterates over the lines of the file, without line ends.
func (l *lock) numbered(yield func(number int, line string) bool) {
	number := 0
	for line := range bytes.Lines(l.Data) {
		number++
		if !yield(number, string(bytes.TrimRight(line, "\r\n"))) {
			return
		}
	}
}
