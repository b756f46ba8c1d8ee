package web

import (
	"cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// titleOf names an actor to people.
func titleOf(by model.Actor) string { return cmp.Or(by.Label(), by.String()) }
