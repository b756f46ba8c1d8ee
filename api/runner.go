package api

import (
	"context"
	"errors"
	"net/http"
)

// LeaseRunRequest requests a run and describes the runner.
type LeaseRunRequest struct {
	Name      string   `json:"name"`      // distinguishes runners with the same token
	Labels    []string `json:"labels"`    // for people
	Version   string   `json:"version"`   // of the runner
	Isolation string   `json:"isolation"` // sandbox for scanners, for people
	Wait      int      `json:"wait"`      // seconds to wait for a run, at most 30
}

// LeaseRunResponse contains the leased run, if there is one.
type LeaseRunResponse struct {
	Run *LeasedRun `json:"run,omitempty"`
}

// LeasedRun is a run that is leased to a runner. The lease expires one minute after the last
// report.
type LeasedRun struct {
	ID         string           `json:"id"`
	Claim      int64            `json:"claim"` // sent with all reports of this run
	Attempt    int              `json:"attempt"`
	Project    string           `json:"project"`
	Kind       string           `json:"kind"`             // full or diff
	Ref        string           `json:"ref,omitempty"`    // empty means the remote's default branch
	Commit     string           `json:"commit,omitempty"` // empty means the newest
	Base       string           `json:"base,omitempty"`   // of a diff run
	Change     int64            `json:"change,omitempty"` // number of the change request
	CloneURL   string           `json:"clone_url"`
	WebURL     string           `json:"web_url,omitempty"` // of the repository, for people
	Credential *CloneCredential `json:"credential,omitempty"`
	Token      string           `json:"token"` // allows uploads for this run, and expires with it
	Limits     LeasedRunLimits  `json:"limits"`
}

// CloneCredential is the git credential for one run.
type CloneCredential struct {
	Username   string `json:"username,omitempty"`
	Password   string `json:"password,omitempty"`
	SSHKey     string `json:"ssh_key,omitempty"`
	KnownHosts string `json:"known_hosts,omitempty"`
}

// LeasedRunLimits are the limits of a run.
type LeasedRunLimits struct {
	Seconds  int   `json:"seconds"`   // for the whole run
	LogBytes int64 `json:"log_bytes"` // of the stored log
}

// ProgressRunRequest reports the progress of a run.
type ProgressRunRequest struct {
	Claim  int64  `json:"claim"`
	State  string `json:"state"` // leased, fetching, scanning or uploading
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
	Offset int64  `json:"offset"` // of the log: bytes sent before
	Log    string `json:"log,omitempty"`
}

// ProgressRunResponse contains the size of the stored log, which is the offset of the next part.
type ProgressRunResponse struct {
	Offset int64 `json:"offset"`
}

// FinishRunRequest reports the end of a run.
type FinishRunRequest struct {
	Claim   int64  `json:"claim"`
	State   string `json:"state"`             // done, failed, cancelled or timed_out
	Failure string `json:"failure,omitempty"` // permanent, transient or scanner
	Reason  string `json:"reason,omitempty"`  // for people
	ScanID  string `json:"scan_id,omitempty"` // newest scan of the run
}

// FinishRunResponse contains the new state of the run.
type FinishRunResponse struct {
	State string `json:"state"` // queued if the run is retried
}

// ErrRunLost means that a run is no longer leased to the runner. It was canceled, or leased to
// another runner after the lease expired, or the runner's token was revoked or has expired. The
// tokens of deleted deployments are revoked.
var ErrRunLost = errors.New("the run is no longer assigned to this runner")

const runnerBase = "/api/runner/v1"

// LeaseRun requests a run. It returns nil if no run is queued.
func (c *Client) LeaseRun(ctx context.Context, r LeaseRunRequest) (*LeasedRun, error) {
	out, err := answer[LeaseRunResponse](ctx, c, call{method: http.MethodPost, base: runnerBase, path: "/lease", body: r})
	if err != nil {
		return nil, err
	}
	return out.Run, nil
}

// ProgressRun reports the progress of a run and extends its lease. It returns ErrRunLost if the run
// is lost.
func (c *Client) ProgressRun(ctx context.Context, id string, r ProgressRunRequest) (*ProgressRunResponse, error) {
	out, err := answer[ProgressRunResponse](ctx, c, call{
		method: http.MethodPost,
		base:   runnerBase,
		path:   "/runs/" + id + "/progress",
		body:   r,
	})
	return out, lost(err)
}

// FinishRun reports the end of a run. It returns ErrRunLost if the run is lost.
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
