package archtest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the module's directory, relative to this package.
const root = "../.."

// rules lists the rules by the names that the exception list uses.
var rules = []struct {
	name  string
	check func(*source) findings
}{
	{"package table", packagesHaveRows},
	{"layers", importsPointDown},
	{"areas", areasAreSeparate},
	{"import depth", importsAreShallow},
	{"confined libraries", librariesAreConfined},
	{"test packages", testPackagesStayInTests},
	{"clock and environment", clockIsParameter},
	{"package comments", packagesAreDocumented},
	{"files per package", packagesHaveFewFiles},
	{"lines per package", packagesHaveFewLines},
	{"exported names per package", packagesExportFewNames},
	{"file length", filesAreShort},
	{"line width", linesAreNarrow},
	{"function length", functionsAreShort},
	{"tenant in statements", statementsNameTheirTenant},
	{"SQL in the store", sqlIsInTheStore},
	{"migration numbers", migrationsAreNumbered},
	{"machine paths", noMachinePaths},
	{"unfinished work", noTodoComments},
	{"links", linksWork},
}

func TestArchitecture(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("the list of files needs a git checkout")
	}
	names := output(t, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	src, err := readSource(os.DirFS(root), strings.Split(strings.TrimRight(names, "\x00"), "\x00"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, message := range r.check(src).messages() {
				t.Error(message)
			}
		})
	}
}

// TestLibcPin checks that go.mod requires the version of libc for which the SQLite driver was
// generated. With another one, the driver compiles and fails at run time.
func TestLibcPin(t *testing.T) {
	const sqlite, libc = "modernc.org/sqlite", "modernc.org/libc"
	driver := strings.TrimSpace(output(t, "go", "list", "-m", "-f", "{{.GoMod}}", sqlite))
	required := requirements(t, driver)[libc]
	ours := strings.TrimSuffix(requirements(t, filepath.Join(root, "go.mod"))[libc], indirect)
	if ours == "" || ours != required {
		t.Errorf("go.mod requires %s %q, but %s requires %q: run go get %s@%s", libc, ours, sqlite, required, libc, required)
	}
}

// TestThirdParty checks that the page of licenses lists all direct dependencies and no others.
func TestThirdParty(t *testing.T) {
	page := read(t, filepath.Join(root, thirdParty))
	direct := requirements(t, filepath.Join(root, "go.mod"))
	maps.DeleteFunc(direct, func(_, version string) bool { return strings.HasSuffix(version, indirect) })
	for module := range direct {
		if !strings.Contains(page, "\n| "+module+" |") {
			t.Errorf("%s does not name %s: add its row, with its license", thirdParty, module)
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \|`).FindAllStringSubmatch(page, -1) {
		if direct[row[1]] == "" {
			t.Errorf("%s names %s, which go.mod does not require: remove its row", thirdParty, row[1])
		}
	}
}

const indirect = " // indirect"

var requirement = regexp.MustCompile(`(?m)^(?:require )?\s*(\S+) (v\S+(?: // indirect)?)$`)

// requirements returns the versions in a go.mod file by module, with the comment of indirect ones.
func requirements(t *testing.T, goMod string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, match := range requirement.FindAllStringSubmatch(read(t, goMod), -1) {
		versions[match[1]] = match[2]
	}
	return versions
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// output runs a command and returns its output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}
