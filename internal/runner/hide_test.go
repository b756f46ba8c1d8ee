package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/redact"
)

const (
	secretToken = "rdt_0123456789abcdefghijklmnopqrstuvwxyz"
	secretKey   = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB\nAAAAMwAAAAtzc2gtZWQyNTUxOQAAACBkZWFkYmVlZmRlYWRiZWVm\nAA==\n-----END OPENSSH PRIVATE KEY-----\n"
)

func reporterOf(secrets api.CloneCredential) *progressReporter {
	return newProgressReporter(nil, &api.LeasedRun{Token: secretToken, Credential: &secrets, Limits: api.LeasedRunLimits{LogBytes: 1 << 20}})
}

// TestSecretsAreHiddenAtEveryCut checks each offset in a long line, in messages of the
// runner and in the output of programs.
func TestSecretsAreHiddenAtEveryCut(t *testing.T) {
	for before := maxLine - 2*len(secretToken); before < maxLine+2*len(secretToken); before++ {
		text := strings.Repeat("x", before) + secretToken + strings.Repeat("y", 3*maxLine)
		for method, write := range map[string]func(*progressReporter){
			"line":  func(progress *progressReporter) { progress.line(text) },
			"lines": func(progress *progressReporter) { progress.lines(strings.NewReader(text + "\nnext\n")) },
		} {
			progress := reporterOf(api.CloneCredential{})
			write(progress)
			log := progress.waiting.String()
			if strings.Contains(log, secretToken[:4]) || len(log) > maxLine+100 || !strings.HasPrefix(log, "xxxx") {
				t.Fatalf("%s: with %d bytes in front of the token, %d are logged, ending in %q", method, before, len(log), log[max(0, len(log)-60):])
			}
			if method == "lines" && !strings.HasSuffix(log, " …\nnext\n") {
				t.Fatalf("the line behind it is not told: %q", log[max(0, len(log)-60):])
			}
		}
	}
}

// TestManySecretsInLongLineAreHidden checks lines that removed secrets make shorter, so that more
// of their text is within the limit.
func TestManySecretsInLongLineAreHidden(t *testing.T) {
	for shift := range len(secretToken) {
		progress := reporterOf(api.CloneCredential{})
		progress.lines(strings.NewReader(strings.Repeat("z", shift) + strings.Repeat(secretToken, 1000) + "\n"))
		if log := strings.ReplaceAll(progress.waiting.String(), redact.Mark, ""); strings.Contains(log, secretToken[:4]) {
			t.Fatalf("shifted by %d: %q", shift, log[max(0, len(log)-60):])
		}
	}
}

// TestMultilineSecretsAreHidden checks that each line of a secret is hidden, also without the
// other lines.
func TestMultilineSecretsAreHidden(t *testing.T) {
	progress := reporterOf(api.CloneCredential{Password: "b3Blbn", SSHKey: secretKey})
	progress.lines(strings.NewReader("reading the key\n" + secretKey + fmt.Sprintf("%q\n", secretKey) + "  indented: " + strings.Split(secretKey, "\n")[2] + "!\n"))
	log := progress.waiting.String()
	for _, part := range []string{"b3Blbn", "AAAAMwAAAAtzc2g", "ZGVhZGJlZWY"} {
		if strings.Contains(log, part) {
			t.Errorf("%q is logged:\n%s", part, log)
		}
	}
	for _, want := range []string{"reading the key\n", "-----BEGIN OPENSSH PRIVATE KEY-----", "indented: " + redact.Mark + "!"} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not told:\n%s", want, log)
		}
	}
}

// TestNothingIsHiddenWithoutSecrets checks that empty secrets are ignored: they would match
// everywhere.
func TestNothingIsHiddenWithoutSecrets(t *testing.T) {
	h := newHider("", " \n")
	if got := h.clean("a b"); got != "a b" || h.begun("a b") != "a b" {
		t.Errorf("it is %q and %q", got, h.begun("a b"))
	}
}

// TestTruncatedGitOutputHidesSecrets checks that truncated output of git contains no partial secret.
func TestTruncatedGitOutputHidesSecrets(t *testing.T) {
	const secret = "glpat-0123456789abcdef"
	for name, stderr := range map[string]string{
		"as git prints it": "fatal: " + strings.Repeat("x", 280) + " " + secret + " more",
		"as it is kept":    strings.Repeat("y", 16<<10-20) + "\nfatal: " + secret + " more",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "said"), []byte(stderr), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\ncat \"$HOME/said\" >&2\nexit 1\n"), 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			g := git{dir: dir, home: dir, path: dir + ":" + os.Getenv("PATH"), hide: newHider(secret)}
			_, err := g.run(t.Context(), "fetch")
			if message := explained(err).Error(); !strings.HasPrefix(message, unknownFault) || strings.Contains(message, secret[:6]) {
				t.Errorf("told is %q", message)
			}
		})
	}
}
