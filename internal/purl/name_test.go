package purl

import "testing"

func TestKey(t *testing.T) {
	for _, c := range []struct{ ecosystem, name, want string }{
		{"PyPI", "Flask_SQLAlchemy", "pypi/flask-sqlalchemy"},
		{"pypi", "zope..interface", "pypi/zope-interface"},
		{"npm", "@babel/core", "npm/@babel/core"},
		{"Go", "github.com/Azure/go-autorest", "gomod/github.com/Azure/go-autorest"},
		{"golang", "stdlib", "gomod/stdlib"},
		{"NuGet", "Newtonsoft.Json", "nuget/newtonsoft.json"},
		{"Packagist", "Symfony/HTTP-Kernel", "composer/symfony/http-kernel"},
		{"Maven", "org.apache.logging.log4j:log4j-core", "maven/org.apache.logging.log4j:log4j-core"},
		{"gradle", "org.slf4j/slf4j-api", "maven/org.slf4j:slf4j-api"},
		{"crates.io", "smallvec", "cargo/smallvec"},
		{"RubyGems", "rack", "gem/rack"},
		{"Hex", "Phoenix", "mix/phoenix"},
		{"SwiftURL", "https://github.com/Apple/swift-nio.git", "swiftpm/github.com/apple/swift-nio"},
		{"Debian:12", "openssl", "debian:12/openssl"},
		{"Packagist:https://packages.drupal.org/8", "drupal/token", "composer/drupal/token"},
		{"Maven:https://maven.google.com", "androidx.core:core", "maven/androidx.core:core"},
		{"Bioconductor:3.18", "limma", "bioconductor/limma"},
	} {
		if got := Key(c.ecosystem, c.name); got != c.want {
			t.Errorf("%s %s is %s, not %s", c.ecosystem, c.name, got, c.want)
		}
	}
}
