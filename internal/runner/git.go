package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// settings are what git is told whatever a repository says: it runs no hook, no filter and
// no helper, fetches no submodule, and follows no redirect to where no credential belongs.
var settings = [][2]string{
	{"core.hooksPath", os.DevNull},
	{"core.fsmonitor", "false"},
	{"core.attributesFile", os.DevNull},
	{"core.excludesFile", os.DevNull},
	{"core.symlinks", "true"},
	{"protocol.allow", "never"},
	{"credential.helper", ""},
	{"http.followRedirects", "false"},
	{"submodule.recurse", "false"},
	{"fetch.recurseSubmodules", "false"},
	{"fetch.writeCommitGraph", "false"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"init.defaultBranch", "main"},
	{"advice.detachedHead", "false"},
}

// git runs git in a folder. Without a remote it reaches nothing beyond the disk.
type git struct {
	dir    string
	home   string
	path   string // PATH
	remote *remote
	stdin  io.Reader
	room   int // bytes of its answer; 0 for those of a short one
}

// remote is what git may reach, and shows there.
type remote struct {
	url        *url.URL
	credential string // file that a credential helper prints; empty: none
	sshKey     string // file; empty: none
	knownHosts string // file
}

// killWait is how long a process that was killed may keep its pipes.
const killWait = 5 * time.Second

// command makes a call of git.
func (g git) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = g.dir, g.env(), g.stdin, killWait
	ownGroup(cmd)
	return cmd
}

func (g git) env() []string {
	config := slices.Clone(settings)
	env := []string{
		"PATH=" + g.path, "HOME=" + g.home, "XDG_CONFIG_HOME=" + g.home, "LC_ALL=C", "TMPDIR=" + g.home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS=true",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_LFS_SKIP_SMUDGE=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(g.dir), "GIT_SSH_COMMAND=false",
	}
	if r := g.remote; r != nil {
		config = append(config, [2]string{"protocol." + r.url.Scheme + ".allow", "always"})
		env = append(env, "GIT_ALLOW_PROTOCOL="+r.url.Scheme)
		if r.url.Scheme == "file" {
			config = append(config, [2]string{"safe.directory", "*"})
		}
		if r.credential != "" {
			host := r.url.Scheme + "://" + r.url.Host
			config = append(config, [2]string{"credential." + host + ".helper", `!f() { test "$1" = get && cat "$REDOUBT_CREDENTIAL_FILE"; }; f`})
			env = append(env, "REDOUBT_CREDENTIAL_FILE="+r.credential)
		}
		if r.sshKey != "" {
			env = append(env, "GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND=ssh -F "+os.DevNull+" -i "+quoted(r.sshKey)+" -o IdentitiesOnly=yes -o BatchMode=yes -o ConnectTimeout=20"+
				" -o StrictHostKeyChecking=yes -o UserKnownHostsFile="+quoted(r.knownHosts)+" -o GlobalKnownHostsFile="+os.DevNull+" -o ForwardAgent=no")
		}
	} else {
		env = append(env, "GIT_ALLOW_PROTOCOL=none")
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config)))
	for i, c := range config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, c[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, c[1]))
	}
	return env
}

// quoted is a text as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// gitError is why git did not do it, in its own words.
type gitError struct{ text string }

func (e *gitError) Error() string { return e.text }

// maxListed bounds a list of all files of a commit, in bytes.
const maxListed = 512 << 20

// run calls git and returns what it prints.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	cmd := g.command(ctx, args...)
	var out, said bounded
	out.room, said.room = cmp.Or(g.room, 64<<10), 16<<10
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &ended):
		return "", &gitError{strings.TrimSpace(said.String())}
	case err != nil:
		return "", fmt.Errorf("git does not run here: %w", err)
	case out.room < 0:
		return "", permanent("the repository is too large to list")
	}
	return out.String(), nil
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	room int
}

// Write implements io.Writer and never fails.
func (b *bounded) Write(p []byte) (int, error) {
	if n := min(len(p), max(b.room, 0)); n > 0 {
		b.Buffer.Write(p[:n])
	}
	b.room -= len(p)
	return len(p), nil
}
