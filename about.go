package redoubt

import _ "embed"

// License is the text of the licence of Redoubt.
//
//go:embed LICENSE
var License string

// ThirdParty names what others made, with its licences, as Markdown.
//
//go:embed THIRD_PARTY.md
var ThirdParty string
