//go:build faults && linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/store"
)

// scanFindings is the number of findings in a scan of the writers.
const scanFindings = 2

// scan uploads like semgrep ci: begin, results, completion. Only a completion that reports stored
// results acknowledges the scan.
func (f *faulty) scan(ctx context.Context, name string) {
	var begun struct {
		Info struct {
			ID int64 `json:"id"`
		} `json:"info"`
	}
	err := f.agent(ctx, "/api/cli/v2/scans", map[string]any{
		"project_metadata": map[string]any{"repository": "scans/" + name, "branch": "main", "commit": "c1", "is_full_scan": true},
		"scan_metadata":    map[string]any{"unique_id": "scan-" + name, "requested_products": []string{"sast"}},
	}, &begun)
	path := fmt.Sprintf("/api/agent/scans/%d/", begun.Info.ID)
	if err == nil {
		err = f.agent(ctx, path+"results", map[string]any{
			"findings": scanResults(name), "ignores": []any{}, "searched_paths": []string{"s0.py", "s1.py"}, "rule_ids": []string{"eqeq"},
		}, nil)
	}
	var stored struct {
		Success bool `json:"success"`
	}
	if err == nil {
		err = f.agent(ctx, path+"complete", map[string]any{"exit_code": 0, "stats": map[string]any{"findings": scanFindings, "errors": []any{}}}, &stored)
	}
	if err == nil && !stored.Success { // stored in the background
		return
	}
	f.answered(err, func() { f.scans["scans/"+name] = true })
}

func scanResults(name string) (list []map[string]any) {
	for i := range scanFindings {
		hash := fmt.Sprintf("%064x", i+1)
		list = append(list, map[string]any{
			"check_id": "eqeq", "path": fmt.Sprintf("s%d.py", i), "line": 1, "column": 1, "end_line": 1, "end_column": 5, "message": "no", "severity": 2, "index": 0,
			"syntactic_id": fmt.Sprintf("%s-%d", name, i), "match_based_id": fmt.Sprintf("%s%x_0", strings.Repeat("0", 127), i), "metadata": map[string]any{}, "is_blocking": false,
			"hashes": map[string]any{"start_line_hash": hash, "end_line_hash": hash, "code_hash": hash, "pattern_hash": hash}, "engine_kind": "OSS",
		})
	}
	return list
}

// agent sends a request of a scanner.
func (f *faulty) agent(ctx context.Context, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.ready.BaseURL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+f.ready.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := f.client.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return &api.Problem{Status: res.StatusCode, Detail: path + ": " + string(text)}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// mintToken creates a token in a separate process, and revokes every other one. A printed token
// must be valid and a revoked one invalid, regardless of crashes.
func (f *faulty) mintToken(ctx context.Context, name string) {
	do := func(args ...string) bool {
		out, err := exec.CommandContext(ctx, "redoubt", append(append([]string{"token"}, args...), append(f.flags, "--deployment", f.ready.DeploymentSlug)...)...).CombinedOutput()
		if err != nil {
			if ctx.Err() == nil {
				f.answered(errors.Join(err, errors.New(string(out))), nil)
			}
			return false
		}
		return true
	}
	if !do("create", "--scope", "ci", name) {
		return
	}
	f.answered(nil, func() { f.tokens[name] = false })
	f.mu.Lock()
	revoke := len(f.tokens)%2 == 0
	if revoke {
		delete(f.tokens, name) // either state until the revocation is acknowledged
	}
	f.mu.Unlock()
	if revoke && do("revoke", name) {
		f.answered(nil, func() { f.tokens[name] = true })
	}
}

// checkTokens checks that tokens exist, and that acknowledged revocations are stored.
func (f *faulty) checkTokens(ctx context.Context, tx *store.Tx) error {
	list, err := tx.Tokens(ctx)
	revoked := map[string]bool{}
	for _, token := range list {
		if _, twice := revoked[token.Name]; twice && f.tokens != nil {
			if _, ours := f.tokens[token.Name]; ours {
				f.t.Errorf("the token %s was created twice", token.Name)
			}
		}
		revoked[token.Name] = !token.RevokedAt.IsZero()
	}
	for name, gone := range f.tokens {
		if is, exists := revoked[name]; !exists || is != gone {
			f.t.Errorf("the token %s is there: %v, revoked: %v, acknowledged as revoked: %v", name, exists, is, gone)
		}
	}
	return err
}
