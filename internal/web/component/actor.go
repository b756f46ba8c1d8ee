package component

import (
	"cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// ActorTitle names an actor to people.
func ActorTitle(by model.Actor) string { return cmp.Or(by.Label(), by.String()) }
