package account

import "embed"

// Templates has the templates of this package.
//
//go:embed templates/*.html
var Templates embed.FS
