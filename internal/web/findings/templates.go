package findings

import "embed"

// Templates contains the templates of this package.
//
//go:embed templates/*.html
var Templates embed.FS
