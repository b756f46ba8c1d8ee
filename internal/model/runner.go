package model

import (
	"context"
	"strings"
	"time"
)

// Runner is a program that executes managed runs. It is identified by its token and name.
type Runner struct {
	ID        int64
	Name      string
	TokenID   int64 // token of its requests
	Labels    []string
	Version   string
	Isolation string // description of its sandbox, for display
	SeenAt    time.Time
	FirstAt   time.Time
}

// RunnerGone is the time without requests after which a runner counts as disconnected. Runners
// request work at least every 30 seconds.
const RunnerGone = 3 * time.Minute

// Limits of a runner's fields.
const (
	MaxRunnerName   = 100
	MaxRunnerLabels = 20
	MaxRunners      = 200 // per deployment
)

// NoSandbox is the prefix of the isolation text of a runner without a sandbox. The reason follows.
const NoSandbox = "bounds alone, no sandbox: "

// Unsandboxed reports whether the runner executes scanners without a sandbox.
func (r Runner) Unsandboxed() bool { return strings.HasPrefix(r.Isolation, NoSandbox) }

// Present reports whether the runner is connected.
func (r Runner) Present(now time.Time) bool { return now.Sub(r.SeenAt) < RunnerGone }

// Normal returns the runner with its reported fields cleaned and truncated.
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

// CloneSource is the URL of a repository with the credentials for cloning it.
type CloneSource struct {
	URL        string // without credentials
	WebURL     string // for display; empty if none
	Username   string // for Git over HTTPS
	Password   string
	SSHKey     string // for Git over SSH
	KnownHosts string // host keys in the known_hosts format
	// Make requests a password from the host that is valid for this repository and about an hour.
	// It is nil if the host does not support this. It must not be called in a transaction.
	Make func(ctx context.Context) (password string, err error)
}

// String returns a fixed text, so that a logged credential remains secret.
func (c CloneSource) String() string { return "(clone source)" }

// GoString returns a fixed text too.
func (c CloneSource) GoString() string { return c.String() }
