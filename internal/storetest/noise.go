package storetest

import (
	"context"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// Noise is the slug of the second tenant. Its rows carry the names that tests
// use in theirs.
const Noise = "noise"

// noises write the rows of the noisy tenant, each kind in a file of its own.
// The later ones find what the earlier ones wrote.
var noises = []func(context.Context, *store.Tx) error{}

func makeNoise(ctx context.Context, s *store.Store) error {
	d, err := s.CreateDeployment(ctx, Noise, "Noise", redoubt.Actor{Kind: "cli", Name: "noise"})
	if err != nil {
		return err
	}
	for _, noise := range noises {
		if err := s.Update(ctx, d.ID, redoubt.Actor{Kind: "cli", Name: "noise"}, noise); err != nil {
			return err
		}
	}
	return nil
}
