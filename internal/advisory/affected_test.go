package advisory

import "testing"

func ranged(events ...Event) *Affected { return &Affected{Ranges: []Range{{events}}} }

var (
	from    = func(v string) Event { return Event{Introduced: v} }
	fixedAt = func(v string) Event { return Event{Fixed: v} }
	last    = func(v string) Event { return Event{LastAffected: v} }
	limit   = func(v string) Event { return Event{Limit: v} }
)

func TestAffectedAsOSVEvaluates(t *testing.T) {
	for _, c := range []struct {
		what      string
		ecosystem string
		affected  *Affected
		yes, no   []string
	}{
		{"from the beginning", "npm", ranged(from("0")), []string{"0.0.0-a", "0.0.1", "9.9.9"}, []string{"", "latest", "git+ssh://x"}},
		{"until a fix", "npm", ranged(from("0"), fixedAt("1.2.0")), []string{"1.1.9", "1.2.0-rc.1"}, []string{"1.2.0", "1.10.0"}},
		{"until a last one", "npm", ranged(from("1.0.0"), last("1.2.0")), []string{"1.0.0", "1.2.0"}, []string{"0.9.0", "1.2.1"}},
		{"two branches", "npm", ranged(from("0"), fixedAt("1.2.0"), from("2.0.0"), fixedAt("2.1.0")), []string{"1.1.0", "2.0.5"}, []string{"1.2.0", "1.9.0", "2.1.0"}},
		{"events in any order", "npm", ranged(fixedAt("2.1.0"), from("2.0.0"), fixedAt("1.2.0"), from("0")), []string{"1.1.0", "2.0.5"}, []string{"1.2.0", "2.1.0"}},
		{"a limit", "npm", ranged(from("0"), limit("1.5.0")), []string{"1.4.9"}, []string{"1.5.0", "2.0.0"}},
		{"the highest of several limits", "npm", ranged(from("0"), limit("1.5.0"), limit("2.0.0"), limit("1.0.0")), []string{"1.4.9", "1.9.9"}, []string{"2.0.0"}},
		{"no limit", "npm", ranged(from("0"), limit("*")), []string{"99.0.0"}, nil},
		{"introduced and fixed at once", "npm", ranged(from("1.0.0"), fixedAt("1.0.0")), nil, []string{"1.0.0", "2.0.0"}},
		{"nothing introduced", "npm", ranged(fixedAt("1.0.0")), nil, []string{"0.5.0", "1.0.0"}},
		{"an event that is no version", "npm", ranged(from("0"), fixedAt("soon")), nil, []string{"1.0.0"}},
		{"listed alone", "npm", &Affected{Versions: []string{"1.0.0", "nightly"}}, []string{"1.0.0", "v1.0.0", "nightly"}, []string{"1.0.1", "weekly"}},
		{"listed or in range", "npm", &Affected{Versions: []string{"3.0.0"}, Ranges: []Range{{[]Event{from("0"), fixedAt("1.0.0")}}}}, []string{"3.0.0", "0.1.0"}, []string{"2.0.0"}},
		{"python", "pypi", ranged(from("1.0"), fixedAt("2.0")), []string{"1.0.0", "1.0.post1", "2.0rc1"}, []string{"1.0a1", "2.0", "2.0.0"}},
		{"maven", "maven", ranged(from("2.0-beta9"), fixedAt("2.3.1")), []string{"2.0-beta9", "2.0", "2.3"}, []string{"2.0-beta8", "2.3.1"}},
		{"go", "gomod", ranged(from("0"), fixedAt("0.0.0-20200131201213-2ca718b1ad77")), []string{"0.0.0-20190101000000-aaaaaaaaaaaa"}, []string{"0.0.0-20210101000000-aaaaaaaaaaaa", "1.0.0+incompatible"}},
	} {
		entry := entryOf(c.ecosystem, []*Affected{c.affected})
		affects := func(v string) bool { return len(entry.verdictOn(v).groups) > 0 }
		for _, v := range c.yes {
			if !affects(v) {
				t.Errorf("%s: %q is not affected", c.what, v)
			}
		}
		for _, v := range c.no {
			if affects(v) {
				t.Errorf("%s: %q is affected", c.what, v)
			}
		}
	}
}

func TestLowestFix(t *testing.T) {
	one := ranged(from("0"), fixedAt("1.2.3"), from("2.0.0"), fixedAt("2.0.1"))
	other := ranged(from("0"), fixedAt("1.4.0"))
	never := ranged(from("0"), last("9.0.0"))
	for _, c := range []struct {
		what, version string
		all           []*Affected
		want          string
	}{
		{"the lowest above the one found", "1.0.0", []*Affected{one}, "1.2.3"},
		{"of its own branch", "2.0.0", []*Affected{one}, "2.0.1"},
		{"one that fixes all of the package", "1.0.0", []*Affected{one, other}, "1.4.0"},
		{"its own where none fixes all", "1.0.0", []*Affected{one, never}, "1.2.3"},
		{"none that is known", "1.0.0", []*Affected{never}, ""},
		{"no version", "latest", []*Affected{one}, ""},
	} {
		var groups [][]*Affected
		for _, a := range c.all {
			groups = append(groups, []*Affected{a})
		}
		got := ""
		if verdict := entryOf("npm", groups...).verdictOn(c.version); len(verdict.fixes) > 0 {
			got = verdict.fixes[0]
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
	}
}

func TestOSVNames(t *testing.T) {
	if OSVName("cargo") != "crates.io" || OSVName("Bitnami") != "Bitnami" {
		t.Error("OSV's names are others")
	}
}
