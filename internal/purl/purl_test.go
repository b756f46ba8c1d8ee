package purl

import "testing"

func TestMake(t *testing.T) {
	tests := []struct{ ecosystem, name, version, want string }{
		{"npm", "lodash", "4.17.21", "pkg:npm/lodash@4.17.21"},
		{"npm", "@angular/core", "17.0.0", "pkg:npm/%40angular/core@17.0.0"},
		{"maven", "org.slf4j:slf4j-api", "2.0.9", "pkg:maven/org.slf4j/slf4j-api@2.0.9"},
		{"gradle", "org.slf4j:slf4j-api", "2.0.9", "pkg:maven/org.slf4j/slf4j-api@2.0.9"},
		{"maven", "lonely", "1", "pkg:maven/lonely@1"},
		{"gomod", "github.com/Masterminds/semver/v3", "3.2.1", "pkg:golang/github.com/masterminds/semver/v3@v3.2.1"},
		{"Go", "golang.org/x/mod", "v0.0.0-20240101000000-0123456789ab", "pkg:golang/golang.org/x/mod@v0.0.0-20240101000000-0123456789ab"},
		{"golang", "example.com/a", "main", "pkg:golang/example.com/a@main"},
		{"pypi", "Zope._.Interface", "6.2", "pkg:pypi/zope-interface@6.2"},
		{"PyPI", "ruamel.yaml", "0.18", "pkg:pypi/ruamel-yaml@0.18"},
		{"gem", "rails", "7.1.0", "pkg:gem/rails@7.1.0"},
		{"composer", "Symfony/Console", "v6.4.0", "pkg:composer/symfony/console@v6.4.0"},
		{"crates.io", "serde_json", "1.0.100", "pkg:cargo/serde_json@1.0.100"},
		{"nuget", "Newtonsoft.Json", "13.0.3", "pkg:nuget/Newtonsoft.Json@13.0.3"},
		{"mix", "phoenix", "1.7.0", "pkg:hex/phoenix@1.7.0"},
		{"swiftpm", "github.com/apple/swift-log", "1.5.3", "pkg:swift/github.com/apple/swift-log@1.5.3"},
		{"swiftpm", "swift-log", "1.5.3", "pkg:generic/swift-log@1.5.3"}, // a Swift URL requires a namespace
		{"Debian:12", "curl", "7.88.1-10+deb12u5", "pkg:deb/debian/curl@7.88.1-10%2Bdeb12u5"},
		{"deb", "debian/curl", "1", "pkg:deb/debian/curl@1"},
		{"GitHub Actions", "Actions/Checkout", "v4", "pkg:githubactions/actions/checkout@v4"},
		{"in-house", "par ser", "1/2", "pkg:generic/par%20ser@1%2F2"},
		{"in-house", "acme/parser", "1", "pkg:generic/acme/parser@1"},
		{"", "x", "", "pkg:generic/x"},
		{"npm", "", "1", ""},
	}
	for _, tt := range tests {
		if got := Make(tt.ecosystem, tt.name, tt.version); got != tt.want {
			t.Errorf("Make(%q, %q, %q) = %q, want %q", tt.ecosystem, tt.name, tt.version, got, tt.want)
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := map[string]string{
		"pkg:npm/@a/b@1":                               "pkg:npm/%40a/b@1",
		"pkg:PyPI/Foo.Bar@1":                           "pkg:pypi/foo-bar@1",
		"pkg:golang/github.com/x/y@1.2.3":              "pkg:golang/github.com/x/y@v1.2.3",
		"pkg:deb/debian/curl@1?distro=12&arch=i386#a/": "pkg:deb/debian/curl@1?arch=i386&distro=12#a",
		"lodash@1":     "",
		"pkg:npm":      "",
		"":             "",
		"pkg:npm/%zz":  "",
		"pkg:swift/x@": "", // no namespace
	}
	for in, want := range tests {
		if got := Canonical(in); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", in, got, want)
		}
	}
}
