package findings

import (
	"testing"

	"github.com/redoubt/redoubt/internal/glob"
	"github.com/redoubt/redoubt/internal/model"
)

// TestPathsAsGlobs checks that the glob of a path matches the path and no similar path.
func TestPathsAsGlobs(t *testing.T) {
	for path, other := range map[string]string{"src/a.go": "b/src/a.go", "app/[id]/page.tsx": "app/i/page.tsx", "a*b?c.js": "aXbYc.js", `a\b`: "a/b"} {
		globs := model.PathGlobs{"/" + asGlob.Replace(path)}
		if err := globs.Check(); err != nil || !glob.Match(globs, path) || glob.Match(globs, other) {
			t.Errorf("%s as %v: %v, fits %v, fits %s %v", path, globs, err, glob.Match(globs, path), other, glob.Match(globs, other))
		}
	}
}
