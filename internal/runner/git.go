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

// settings override those of a repository. With them, git runs no hooks, filters or helpers,
// fetches no submodules, and follows no redirects, which could disclose the credential.
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
	// Limits of memory use and of mapped packs.
	{"core.packedGitLimit", "256m"},
	{"core.packedGitWindowSize", "32m"},
	{"core.deltaBaseCacheLimit", "64m"},
	{"core.bigFileThreshold", "32m"},
	{"pack.threads", "2"},
}

// git runs git in a directory. Without a remote it has no network access.
type git struct {
	dir       string
	home      string
	path      string // PATH
	memory    int64  // limit of the address space of each process, in bytes
	remote    *remote
	stdin     io.Reader
	maxOutput int // maximum output in bytes; 0 for the default
	hide      hider
}

// remote is what git may connect to, with the credential.
type remote struct {
	url        *url.URL
	address    netip.Addr // of the host; zero: git resolves it
	username   string     // for HTTPS
	password   string     // empty: none
	sshAgent   string     // socket of an agent with the key; empty: none
	knownHosts string     // file name
}

// killWait is the time after which the pipes of a killed process are closed.
const killWait = 5 * time.Second

// leastMemory is the minimum address space of git, including its libraries.
const leastMemory = 1 << 30

// limited is a shell command that starts git with an address space limit in KiB: trees that expand
// without end are small during the transfer.
const limited = `ulimit -v "$0" 2>/dev/null; exec git "$@"`

// command returns a command that runs git.
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

// port returns the port of the host.
func (r *remote) port() string {
	return cmp.Or(r.url.Port(), map[string]string{"https": "443", "http": "80", "ssh": "22"}[r.url.Scheme])
}

// literal formats an address for use before a port.
func literal(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// sshCommand returns an ssh command that uses only the key of the agent, verifies the host key, and
// connects to the validated address.
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

// quoted quotes a text as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// gitError contains the error output of git, without secrets. It may be truncated.
type gitError struct{ text string }

func (e *gitError) Error() string { return e.text }

// maxListed limits a list of all files of a commit, in bytes.
const maxListed = 512 << 20

// run runs git and returns its output.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	cmd := g.command(ctx, args...)
	var out, stderr bounded
	out.remaining, stderr.remaining = cmp.Or(g.maxOutput, 64<<10), 16<<10
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &ended):
		return "", stderr.fault(g.hide)
	case err != nil:
		return "", fmt.Errorf("git cannot be run: %w", err)
	case out.remaining < 0:
		return "", permanent("the repository is too large to list")
	}
	return out.String(), nil
}

// bounded stores the first bytes written to it.
type bounded struct {
	bytes.Buffer
	remaining int
}

// fault returns the output as an error, without secrets. If the output was truncated, a partial
// secret at its end is removed, too.
func (b *bounded) fault(h hider) *gitError {
	if b.remaining < 0 {
		return &gitError{strings.TrimSpace(h.begun(b.String()))}
	}
	return &gitError{strings.TrimSpace(h.clean(b.String()))}
}

// Write implements io.Writer and never fails.
func (b *bounded) Write(p []byte) (int, error) {
	if n := min(len(p), max(b.remaining, 0)); n > 0 {
		b.Buffer.Write(p[:n])
	}
	b.remaining -= len(p)
	return len(p), nil
}
