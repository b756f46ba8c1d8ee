package server

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// An extension is what neither the contract nor the hosted service has. The
// table marks operations by a word; parameters and members say it in theirs.

// extensionMark is the member of openapi.json that is true on an extension.
const extensionMark = "x-redoubt"

// extensionWords end the text of a parameter or member that is an extension.
const extensionWords = "(an extension)"

// beyond is a handler that the table marks as an extension.
func beyond(h handler) handler {
	return func(a huma.API, o *operation) {
		mark(&o.described.Extensions)
		o.described.Description += " An extension: no other server has it."
		h(a, o)
	}
}

// severalWords end the text of a parameter of which the contract takes one value, and this
// server several.
const severalWords = "(several: an extension)"

func mark(extensions *map[string]any) {
	if *extensions == nil {
		*extensions = map[string]any{}
	}
	(*extensions)[extensionMark] = true
}

// markByWords marks a parameter or member whose text says that it is an extension.
func markByWords(text, words string, extensions *map[string]any) {
	if strings.Contains(text, words) {
		mark(extensions)
	}
}
