// Package about holds the texts about Redoubt itself that the program shows. They are files of this
// folder, since a package cannot embed files of a folder above it. LICENSE is a copy of the one at
// the top of the repository.
package about

import _ "embed"

// License is the text of the licence of Redoubt.
//
//go:embed LICENSE
var License string

// ThirdParty lists the works of others in Redoubt, with their licences, as Markdown.
//
//go:embed THIRD_PARTY.md
var ThirdParty string
