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

// format is one kind of lockfile.
type format struct {
	name      string // as path.Match reads it, of the file's base name
	ecosystem string
	read      func(l *lock) error
}

// formats maps file names to readers. The first match counts.
var formats []format

func init() {
	formats = []format{
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

// Is reports whether a file of this name or path is read as a lockfile.
func Is(name string) bool { return formatOf(name) != nil }

// Ecosystem is the one of the packages of a lockfile of this name or path,
// unless they tell another; empty for what is no lockfile.
func Ecosystem(name string) string {
	if kind := formatOf(name); kind != nil {
		return kind.ecosystem
	}
	return ""
}

// formatOf finds the kind of a lockfile by its name or path, or nil.
func formatOf(name string) *format {
	name = read.Base(name)
	for i, kind := range formats {
		if ok, _ := path.Match(kind.name, name); ok {
			return &formats[i]
		}
	}
	return nil
}

// sharedNames are those that other tools give to files of theirs, for which readers
// return a Namesake.
var sharedNames = []string{"manifest.toml", "Manifest.toml", "environment.yml", "environment.yaml"}

// IsNamesake reports whether a file only shares its name with a lockfile: it is another
// tool's, and no lockfile that is broken.
func IsNamesake(name string, data []byte) bool {
	if !slices.Contains(sharedNames, read.Base(name)) {
		return false
	}
	_, err := new(Upload).Read(File{Name: name, Path: name, Data: data, Limit: 1})
	return read.IsNamesake(err)
}

// Names lists the names that are understood.
func Names() []string {
	var names []string
	for _, kind := range formats {
		names = append(names, kind.name)
	}
	return read.Distinct(names)
}

// Tool is the tool of reports that are a lockfile alone.
const Tool = model.ToolLockfile

// File is a lockfile to read.
type File struct {
	Name  string // of the file, a path where it is one: it says which reader is asked
	Path  string // in the repository, or a mere name: under it the inventory stands
	Data  []byte // all of it
	Limit int    // packages that it may hold
}

// Upload reads the lockfiles of one upload, of which some refer to others. The
// zero Upload is ready to use.
type Upload struct {
	pip   pipFiles
	maven mavenFiles
}

// Includes reports whether a requirements file that was read refers to the file
// of that path in the repository, which makes it one too, whatever its name.
func (u *Upload) Includes(path string) bool {
	_, known := u.pip.known[path]
	return known
}

// Read makes a report of the inventory of one lockfile, of no category yet. Resolve
// completes it, once all files are read.
//
// The error is a *read.PlaceError where the place is known, a *read.FormatError for a
// file that is none of its name, and wraps model.ErrTooLarge over a limit.
func (u *Upload) Read(f File) (*model.Report, error) {
	kind := formatOf(f.Name)
	if kind == nil && u.Includes(f.Path) {
		kind = &pipKind
	}
	if kind == nil {
		return nil, fmt.Errorf("no lockfile has this name; known are %s", strings.Join(Names(), ", "))
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

// Resolve completes what was read by what only all files together say: which
// versions pip's constraints mean, and those that parents and imports of Maven set.
func (u *Upload) Resolve() {
	u.pip.resolve()
	u.maven.resolve()
}

// plain makes sure that the file is text. XML says itself how it is encoded;
// comments in requirements may be in any encoding.
func (l *lock) plain() error {
	name := read.Base(l.Name)
	if strings.HasSuffix(name, ".xml") || strings.HasSuffix(name, "proj") || strings.HasSuffix(name, ".props") {
		return nil
	}
	for i, c := range l.Data {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return &read.PlaceError{
				Offset: int64(i),
				Err:    read.NotA("lockfile", "it holds a control character on line %d", l.lineAt(i)),
			}
		}
	}
	if !strings.HasSuffix(name, ".txt") && !utf8.Valid(l.Data) {
		return read.NotA("lockfile", "it is not UTF-8 text")
	}
	return nil
}

// lock is a lockfile as it is read.
type lock struct {
	Packages
	File
	upload *Upload
	rep    *model.Report
	breaks []int // offsets of line ends, once a line is asked for
}

// refuse notes an entry that names no version, or none that can be read.
func (l *lock) refuse(item, format string, args ...any) {
	reason := read.OneLine(fmt.Sprintf(format, args...), read.MaxName)
	l.rep.Refuse(model.Refusal{Item: read.OneLine(item, read.MaxName), Reason: reason})
}

// lineAt returns the line of a byte, from 1.
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

// numbered goes through the lines of the file, without their ends.
func (l *lock) numbered(yield func(number int, line string) bool) {
	number := 0
	for line := range bytes.Lines(l.Data) {
		number++
		if !yield(number, string(bytes.TrimRight(line, "\r\n"))) {
			return
		}
	}
}
