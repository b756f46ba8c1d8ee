// Package about contains the texts about Redoubt that the program shows. They are embedded from
// this directory, because a package cannot embed files of a parent directory. LICENSE is a copy of
// the file at the top of the repository.
package about

import _ "embed"

// License is the text of the license of Redoubt.
//
//go:embed LICENSE
var License string

// ThirdParty lists third-party works in Redoubt with their licenses, as Markdown.
//
//go:embed THIRD_PARTY.md
var ThirdParty string
