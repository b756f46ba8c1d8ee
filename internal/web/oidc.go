package web

import "github.com/redoubt/redoubt"

// Provider stands in until the provider is there.
type Provider interface{ Title() string }

func (v *visit) goToProvider() error { return redoubt.ErrNotFound }

func (v *visit) comeFromProvider() error { return redoubt.ErrNotFound }
