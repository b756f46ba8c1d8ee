package conformance

import (
	"net/http"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/redoubt/redoubt/api"
)

// versionsOf lists the dependencies of the deployment, as "name version".
func (s *site) versionsOf(t testing.TB) (list []string) {
	t.Helper()
	for _, d := range post[api.ListDependenciesResponse](t, s, "dependencies", object{"pageSize": 100}).Dependencies {
		list = append(list, d.Name+" "+d.Version)
	}
	slices.Sort(list)
	return list
}

// inUTF16 encodes a text with a byte order mark.
func inUTF16(text string, bigEndian bool) (out []byte) {
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		high, low := byte(unit>>8), byte(unit)
		if bigEndian {
			high, low = low, high
		}
		out = append(out, low, high)
	}
	return out
}

// TestPackagesAreMatchedByRealNameAndVersion imports lockfiles with names or versions in unusual places.
func TestPackagesAreMatchedByRealNameAndVersion(t *testing.T) {
	const yarn = "# yarn lockfile v1\n\n\"foo-uuid@npm:@types/uuid\":\n  version \"9.0.7\"\n\n\"foo-ms@npm:ms\":\n  version \"2.1.3\"\n\n" +
		"\"old@npm:lodash@^4\":\n  version \"4.17.20\"\n\nplain@^1:\n  version \"1.0.0\"\n"
	const pip = "b==1.0,<2\nd!=1.1, ==1.2\nc @ https://x.example/c-1.2-py3-none-any.whl#sha256=00\n" +
		"https://x.example/p/My_Pkg-2.0%2Blocal-1-cp311-cp311-linux_x86_64.whl\nsome-name @ https://x.example/some-name-3.1.tar.gz ; python_version > '3'\n" +
		"other @ https://x.example/another-1.0-py3-none-any.whl\nsource @ https://x.example/archive/v1.tar.gz\nwild==1.*,<2\ntwo==1,==2\nrange>=1,<2\n"
	for name, c := range map[string]struct {
		file    file
		want    []string
		refused int
	}{
		"yarn":   {file{"yarn.lock", []byte(yarn)}, []string{"@types/uuid 9.0.7", "lodash 4.17.20", "ms 2.1.3", "plain 1.0.0"}, 0},
		"pip":    {file{"requirements.txt", []byte(pip)}, []string{"b 1.0", "c 1.2", "d 1.2", "my-pkg 2.0+local", "some-name 3.1"}, 5},
		"conda":  {file{"environment.yml", []byte("name: a\ndependencies:\n  - pip:\n    - b==1.0,<2\n    - d==1 ; python_version > '3'\n")}, []string{"b 1.0", "d 1"}, 0},
		"utf16":  {file{"requirements.txt", inUTF16("flask==2.0.1\r\n# é\r\n", false)}, []string{"flask 2.0.1"}, 0},
		"utf16b": {file{"requirements.txt", inUTF16("flask==2.0.1\r\n", true)}, []string{"flask 2.0.1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "sqlite")
			answer := s.importFiles(t, nil, c.file)
			wants(t, "packages", s.versionsOf(t), c.want...)
			if got := len(answer.Imports[0].Refused); got != c.refused {
				t.Errorf("%d refused, want %d: %+v", got, c.refused, answer.Imports[0].Refused)
			}
		})
	}
}

// TestVersionBoundsAreVersions filters dependencies by valid and invalid bounds.
func TestVersionBoundsAreVersions(t *testing.T) {
	s := newSite(t, "sqlite")
	for status, bounds := range map[int][]string{
		http.StatusOK: {
			"1", "1.2.3", "v1.2.3", ">=1.2", "< 2", "=1.0.0-rc.1+build", "1!2.0", "1:2.3~rc1-4", "1.0_1", "2.0.0.RELEASE", "0.0.0-20200101-abcdef", "1.0-x86",
		},
		http.StatusBadRequest: {"^1.2", "~1.2", "~>1.2", "1.x", "1.X.x", "x", "*", "1.*", "banana", ">=", ">=1,<2", "1 2", "[1,2)", "v", "1 || 2"},
	} {
		for _, bound := range bounds {
			for _, member := range []string{"versionLowerBound", "versionUpperBound"} {
				body := object{"dependencyFilter": object{"packageFilters": []object{{"name": "a", member: bound}}}}
				if a := s.send(t, request{method: "POST", path: "dependencies", body: body}); a.status != status {
					t.Errorf("%s %q: %d, want %d", member, bound, a.status, status)
				}
			}
		}
	}
}
