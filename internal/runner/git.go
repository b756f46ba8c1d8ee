package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	// What git keeps in memory, and how much of its packs it maps at once.
	{"core.packedGitLimit", "256m"},
	{"core.packedGitWindowSize", "32m"},
	{"core.deltaBaseCacheLimit", "64m"},
	{"core.bigFileThreshold", "32m"},
	{"pack.threads", "2"},
}

// git runs git in a folder. Without a remote it reaches nothing beyond the disk.
type git struct {
	dir    string
	home   string
	path   string // PATH
	memory int64  // bytes of addresses that it, and each program that it starts, may have
	remote *remote
	stdin  io.Reader
	room   int // bytes of its answer; 0 for those of a short one
	hide   hider
}

// remote is what git may reach, and shows there.
type remote struct {
	url        *url.URL
	address    netip.Addr // of the host; the zero one leaves it to git to find
	username   string     // of git over HTTPS
	password   string     // empty: none is shown
	sshAgent   string     // socket of an agent that has the key; empty: none
	knownHosts string     // file
}

// killWait is how long a process that was killed may keep its pipes.
const killWait = 5 * time.Second

// leastMemory is what git needs to begin at all, with the libraries that it is linked with.
const leastMemory = 1 << 30

// limited is a shell that starts git with a bound of its memory, in KiB: trees that unfold
// without end are small on the wire.
const limited = `ulimit -v "$0" 2>/dev/null; exec git "$@"`

// command makes a call of git.
func (g git) command(ctx context.Context, args ...string) *exec.Cmd {
	most := strconv.FormatInt(max(g.memory, leastMemory)>>10, 10)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limited, most}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = g.dir, g.env(), g.stdin, killWait
	ownGroup(cmd)
	return cmd
}

func (g git) env() []string {
	config := slices.Clone(settings)
	env := []string{
		"PATH=" + g.path, "HOME=" + g.home, "XDG_CONFIG_HOME=" + g.home, "LC_ALL=C", "TMPDIR=" + g.home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS=true",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_LFS_SKIP_SMUDGE=1",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(g.dir), "GIT_SSH_COMMAND=false",
	}
	if r := g.remote; r != nil {
		config = append(config, [2]string{"protocol." + r.url.Scheme + ".allow", "always"})
		env = append(env, "GIT_ALLOW_PROTOCOL="+r.url.Scheme)
		if r.url.Scheme == "file" {
			config = append(config, [2]string{"safe.directory", "*"})
		}
		if r.password != "" {
			host := r.url.Scheme + "://" + r.url.Host
			config = append(config, [2]string{
				"credential." + host + ".helper",
				`!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$REDOUBT_GIT_USER" "$REDOUBT_GIT_PASSWORD"; }; f`,
			})
			env = append(env, "REDOUBT_GIT_USER="+r.username, "REDOUBT_GIT_PASSWORD="+r.password)
		}
		if r.address.IsValid() && r.url.Scheme != "ssh" {
			config = append(config, [2]string{
				"http.curloptResolve",
				r.url.Hostname() + ":" + r.port() + ":" + literal(r.address),
			})
		}
		if r.url.Scheme == "ssh" {
			env = append(env, "GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND="+r.sshCommand(), "SSH_AUTH_SOCK="+r.sshAgent)
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

// port is where the host answers.
func (r *remote) port() string {
	return cmp.Or(r.url.Port(), map[string]string{"https": "443", "http": "80", "ssh": "22"}[r.url.Scheme])
}

// literal is an address as it stands before a port.
func literal(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// sshCommand is ssh with the key of the agent alone, to a host whose key is known, at the
// address that was found to be allowed.
func (r *remote) sshCommand() string {
	options := []string{
		"BatchMode=yes", "ConnectTimeout=20", "StrictHostKeyChecking=yes", "ClearAllForwardings=yes",
		"ForwardAgent=no", "IdentityFile=none", "GlobalKnownHostsFile=" + os.DevNull,
		"UserKnownHostsFile=" + r.knownHosts, "IdentityAgent=" + cmp.Or(r.sshAgent, "none"),
	}
	if r.address.IsValid() {
		alias := r.url.Hostname()
		if p := r.url.Port(); p != "" && p != "22" {
			alias = "[" + alias + "]:" + p
		}
		options = append(options, "HostName="+r.address.String(), "HostKeyAlias="+alias)
	}
	words := []string{"ssh", "-F", os.DevNull}
	for _, o := range options {
		words = append(words, "-o", quoted(o))
	}
	return strings.Join(words, " ")
}

// quoted is a text as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// gitError is why git did not do it, in its own words, without what must not be told: they
// may be cut anywhere.
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
		return "", said.fault(g.hide)
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

// fault is what git said, without secrets. Where not all was kept, the last one may have been
// cut.
func (b *bounded) fault(h hider) *gitError {
	if b.room < 0 {
		return &gitError{strings.TrimSpace(h.begun(b.String()))}
	}
	return &gitError{strings.TrimSpace(h.clean(b.String()))}
}

// Write implements io.Writer and never fails.
func (b *bounded) Write(p []byte) (int, error) {
	if n := min(len(p), max(b.room, 0)); n > 0 {
		b.Buffer.Write(p[:n])
	}
	b.room -= len(p)
	return len(p), nil
}
