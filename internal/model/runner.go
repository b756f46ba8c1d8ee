package model

import (
	"context"
	"strings"
	"time"
)

// Runner is a program that makes managed runs. It is known by the token that it calls
// with and by its name.
type Runner struct {
	ID        int64
	Name      string
	TokenID   int64 // with whose token it calls
	Labels    []string
	Version   string
	Isolation string // how it keeps scanners in, for people
	SeenAt    time.Time
	FirstAt   time.Time
}

// RunnerGone is after what time without a word a runner counts as gone: it asks for work
// every half minute at least.
const RunnerGone = 3 * time.Minute

// Bounds of what a runner says of itself.
const (
	MaxRunnerName   = 100
	MaxRunnerLabels = 20
	MaxRunners      = 200 // of a deployment
)

// NoSandbox is how what a runner says of its isolation begins where it has no sandbox; the
// reason follows.
const NoSandbox = "bounds alone, no sandbox: "

// Unsandboxed reports whether the runner says that its scanners are kept in by bounds alone.
func (r Runner) Unsandboxed() bool { return strings.HasPrefix(r.Isolation, NoSandbox) }

// Present reports whether the runner was heard of lately.
func (r Runner) Present(now time.Time) bool { return now.Sub(r.SeenAt) < RunnerGone }

// Normal is the runner with what it says of itself as it is kept and shown.
func (r Runner) Normal() Runner {
	r.Name = CutBytes(Line(strings.TrimSpace(r.Name)), MaxRunnerName)
	if r.Name == "" {
		r.Name = "runner"
	}
	r.Version, r.Isolation = CutBytes(Line(r.Version), MaxRunnerName), CutBytes(Line(r.Isolation), 2*MaxRunnerName)
	labels := []string{}
	for _, l := range r.Labels[:min(len(r.Labels), MaxRunnerLabels)] {
		if l = CutBytes(Line(strings.TrimSpace(l)), MaxRunnerName); l != "" {
			labels = append(labels, l)
		}
	}
	r.Labels = labels
	return r
}

// CloneSource is where a runner fetches a project from, and what it shows there.
type CloneSource struct {
	URL        string // without a credential
	WebURL     string // for people; empty: none
	Username   string // of git over HTTPS
	Password   string
	SSHKey     string // of git over SSH
	KnownHosts string // the host's keys, as a known_hosts file has them
	// Make has the host make a password for this repository alone, which lasts for about
	// an hour; nil where the host makes none. It asks the host: call it in no transaction.
	Make func(ctx context.Context) (password string, err error)
}

// String tells nothing: a credential that somebody logs stays secret.
func (c CloneSource) String() string { return "(clone source)" }

// GoString tells nothing either.
func (c CloneSource) GoString() string { return c.String() }
