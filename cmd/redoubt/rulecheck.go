package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// ruleCheckTime is how long the scanner may take to parse rules.
const ruleCheckTime = 2 * time.Minute

// checkRules lets the scanner itself parse files of rules, since no schema
// knows whether a pattern parses. It returns false where there is no such
// program here, and an error with the scanner's words where a rule is bad.
func checkRules(a *app, semgrep string, files []string) (checked bool, err error) {
	program, err := exec.LookPath(semgrep)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// It asks its server for rules about rules and waits long for an answer.
	listener, err := (&net.ListenConfig{}).Listen(a.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return false, err
	}
	lints := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"rules":[]}`))
	})}
	go func() { _ = lints.Serve(listener) }() // until it is closed
	defer func() { err = errors.Join(err, lints.Close()) }()

	ctx, cancel := context.WithTimeout(a.ctx, ruleCheckTime)
	defer cancel()
	args := []string{"scan", "--validate", "--metrics=off", "--disable-version-check"}
	for _, file := range files {
		args = append(args, "--config", file)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "SEMGREP_URL=http://"+listener.Addr().String(), "NO_PROXY=127.0.0.1", "SEMGREP_APP_TOKEN=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return false, fmt.Errorf("%s does not take the rules (%w):\n%s", semgrep, err, bytes.TrimSpace(out.Bytes()))
	}
	return true, nil
}
