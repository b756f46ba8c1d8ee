package api

import (
	"context"
	"errors"
	"net/http"
)

// LeaseRunRequest asks for work: what a runner says of itself.
type LeaseRunRequest struct {
	Name      string   `json:"name"`      // tells runners of one token apart
	Labels    []string `json:"labels"`    // for people
	Version   string   `json:"version"`   // of the program
	Isolation string   `json:"isolation"` // how scanners are kept in, for people
	Wait      int      `json:"wait"`      // seconds to wait for work, 30 at most
}

// LeaseRunResponse is a run to make, or none.
type LeaseRunResponse struct {
	Run *LeasedRun `json:"run,omitempty"`
}

// LeasedRun is a run that is the runner's until it is silent for a minute.
type LeasedRun struct {
	ID         string           `json:"id"`
	Claim      int64            `json:"claim"` // said with all that follows
	Attempt    int              `json:"attempt"`
	Project    string           `json:"project"`
	Kind       string           `json:"kind"`             // full or diff
	Ref        string           `json:"ref,omitempty"`    // empty is the remote's default branch
	Commit     string           `json:"commit,omitempty"` // empty is the newest
	Base       string           `json:"base,omitempty"`   // of a diff
	Change     int64            `json:"change,omitempty"` // number of the change request
	CloneURL   string           `json:"clone_url"`
	WebURL     string           `json:"web_url,omitempty"` // of the repository, for people
	Credential *CloneCredential `json:"credential,omitempty"`
	Token      string           `json:"token"` // uploads for this run, and dies with it
	Limits     LeasedRunLimits  `json:"limits"`
}

// CloneCredential is what git shows the host for one run.
type CloneCredential struct {
	Username   string `json:"username,omitempty"`
	Password   string `json:"password,omitempty"`
	SSHKey     string `json:"ssh_key,omitempty"`
	KnownHosts string `json:"known_hosts,omitempty"`
}

// LeasedRunLimits are bounds that the server sets.
type LeasedRunLimits struct {
	Seconds  int   `json:"seconds"`   // for the whole run
	LogBytes int64 `json:"log_bytes"` // of log that are kept
}

// ProgressRunRequest says how far a run is.
type ProgressRunRequest struct {
	Claim  int64  `json:"claim"`
	State  string `json:"state"` // leased, fetching, scanning or uploading
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
	Offset int64  `json:"offset"` // of the log: bytes that were sent before
	Log    string `json:"log,omitempty"`
}

// ProgressRunResponse tells the size of the log that is kept, where the next piece begins.
type ProgressRunResponse struct {
	Offset int64 `json:"offset"`
}

// FinishRunRequest says how a run ended.
type FinishRunRequest struct {
	Claim   int64  `json:"claim"`
	State   string `json:"state"`             // done, failed, cancelled or timed_out
	Failure string `json:"failure,omitempty"` // permanent, transient or scanner
	Reason  string `json:"reason,omitempty"`  // for people
	ScanID  string `json:"scan_id,omitempty"` // newest scan that it brought
}

// FinishRunResponse tells what became of the run.
type FinishRunResponse struct {
	State string `json:"state"` // queued, where it is tried again
}

// ErrRunLost means that a run is no longer the runner's: it was cancelled, or given to
// another one after its lease had run out, or the runner's token was revoked or has expired,
// as those of a deployment that is gone.
var ErrRunLost = errors.New("the run is no longer this runner's")

const runnerBase = "/api/runner/v1"

// LeaseRun asks for a run to make; nil where there is none yet.
func (c *Client) LeaseRun(ctx context.Context, r LeaseRunRequest) (*LeasedRun, error) {
	out, err := answer[LeaseRunResponse](ctx, c, call{method: http.MethodPost, base: runnerBase, path: "/lease", body: r})
	if err != nil {
		return nil, err
	}
	return out.Run, nil
}

// ProgressRun says how far a run is, which keeps it; ErrRunLost where it is lost.
func (c *Client) ProgressRun(ctx context.Context, id string, r ProgressRunRequest) (*ProgressRunResponse, error) {
	out, err := answer[ProgressRunResponse](ctx, c, call{
		method: http.MethodPost,
		base:   runnerBase,
		path:   "/runs/" + id + "/progress",
		body:   r,
	})
	return out, lost(err)
}

// FinishRun says how a run ended; ErrRunLost where it is lost.
func (c *Client) FinishRun(ctx context.Context, id string, r FinishRunRequest) (*FinishRunResponse, error) {
	out, err := answer[FinishRunResponse](ctx, c, call{
		method: http.MethodPost,
		base:   runnerBase,
		path:   "/runs/" + id + "/finish",
		body:   r,
	})
	return out, lost(err)
}

func lost(err error) error {
	var p *Problem
	if errors.As(err, &p) &&
		(p.Status == http.StatusConflict || p.Status == http.StatusNotFound || p.Code == CodeUnauthenticated) {
		return errors.Join(ErrRunLost, err)
	}
	return err
}
