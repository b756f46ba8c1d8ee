package scm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// gitHost is a plain git remote. It supports only reading branches.
type gitHost struct {
	reach      Reach
	remote     string
	credential model.HostCredential
}

func newGit(c Config, to model.Connection, credential model.HostCredential) *gitHost {
	return &gitHost{c.Reach, to.BaseURL, credential}
}

// Who implements Host. Git has no accounts, so it returns a name derived from the credential. It
// returns an error if the remote cannot be read.
func (h *gitHost) Who(ctx context.Context) (Account, error) {
	_, err := h.head(ctx)
	return Account{Login: cmp.Or(h.credential.Username, string(h.credential.Kind), "anybody")}, err
}

// Repositories implements Host. It returns one repository.
func (h *gitHost) Repositories(ctx context.Context, handle func([]model.Repository) error) error {
	r, err := h.Repository(ctx, "")
	if err != nil {
		return err
	}
	return handle([]model.Repository{r})
}

// Repository implements Host. The id of the repository is its URL.
func (h *gitHost) Repository(ctx context.Context, _ string) (model.Repository, error) {
	head, err := h.head(ctx)
	if err != nil {
		return model.Repository{}, err
	}
	u, err := url.Parse(h.remote)
	if err != nil {
		return model.Repository{}, err
	}
	name := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if u.Scheme == "file" { // the name does not include the path of the parent directories
		name = filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name)
	}
	if !strings.Contains(name, "/") {
		name = u.Hostname() + "/" + name
	}
	r, fine := cleaned("", model.Repository{HostID: h.remote, FullName: name, DefaultBranch: head, Private: true})
	if !fine {
		return r, model.Invalid("base_url", "invalid project name %.80q: the address must end like acme/payments.git", name)
	}
	r.CloneURL = h.remote
	return r, nil
}

// head returns the default branch of the remote, or "" if it has none.
func (h *gitHost) head(ctx context.Context) (string, error) {
	output, err := h.lsRemote(ctx, "HEAD")
	for line := range strings.Lines(output) {
		if ref, found := strings.CutPrefix(line, "ref: refs/heads/"); found {
			branch, _, _ := strings.Cut(ref, "\t")
			return branch, nil
		}
	}
	return "", err
}

// Branch implements Host.
func (h *gitHost) Branch(ctx context.Context, _ model.Repository, name string) (string, error) {
	output, err := h.lsRemote(ctx, "refs/heads/"+name)
	for line := range strings.Lines(output) {
		if commit, _, _ := strings.Cut(line, "\t"); !strings.HasPrefix(commit, "ref: ") {
			return goodCommit(commit)
		}
	}
	return "", cmp.Or(err, fmt.Errorf("branch %.100q: %w", name, model.ErrNotFound))
}

// lsRemote runs git ls-remote for a ref and returns the lines of that ref.
func (h *gitHost) lsRemote(ctx context.Context, ref string) (output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	home, err := os.MkdirTemp("", "redoubt-git-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	env, err := h.environment(ctx, home)
	if err != nil {
		return "", err
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return "", errors.New("git is not installed on this server: install it")
	}
	out, wrong := refLines{ref: ref}, bounded{}
	c := exec.CommandContext(ctx, git, "ls-remote", "--symref", "--", h.remote, ref)
	c.Dir, c.Env, c.Stdout, c.Stderr, c.WaitDelay = home, slices.Concat(env, []string{
		"PATH=" + filepath.Dir(git) + ":/usr/bin:/bin",
	}), &out, &wrong, requestTimeout
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("git cannot read the remote: %s: %w",
			model.Shorten(model.Line(strings.TrimSpace(wrong.String())), 300), model.ErrUnavailable)
	}
	return out.matched.String(), nil
}

// refLines stores the lines of git ls-remote for one ref. The command lists every ref that ends
// with the name, so their number is unlimited.
type refLines struct {
	ref           string
	line, matched bounded
}

// Write implements io.Writer.
func (l *refLines) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		_, _ = l.line.Write(part) // bounded: a longer line is never the ref's
		if !bytes.HasSuffix(part, []byte("\n")) {
			continue
		}
		if _, ref, found := strings.Cut(strings.TrimSpace(l.line.String()), "\t"); found && ref == l.ref {
			_, _ = l.matched.Write(l.line.Bytes())
		}
		l.line.Reset()
	}
	return len(p), nil
}

// bounded stores the first 64 KiB of a program's output.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if remaining := 64<<10 - b.Len(); remaining > 0 {
		b.Buffer.Write(p[:min(remaining, len(p))])
	}
	return len(p), nil
}

// environment returns the environment of git. It prevents prompts, hooks, redirects and connections
// to addresses other than the resolved one. Credentials are in the environment or in files in home,
// never in the arguments, which every user of the machine can read.
func (h *gitHost) environment(ctx context.Context, home string) ([]string, error) {
	u, err := url.Parse(h.remote)
	if err != nil {
		return nil, err
	}
	var a netip.Addr
	if u.Scheme != "file" {
		if a, err = h.reach.Resolve(ctx, u.Hostname()); err != nil {
			return nil, err
		}
	}
	settings := [][2]string{
		{"protocol.allow", "never"},
		{"protocol." + u.Scheme + ".allow", "always"},
		{"http.followRedirects", "false"},
		{"credential.helper", ""},
		{"core.hooksPath", os.DevNull},
	}
	env := []string{
		"HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "LC_ALL=C",
	}
	switch u.Scheme {
	case "file":
	case "ssh":
		ssh, err := h.sshCommand(home, u, a.String())
		if err != nil {
			return nil, err
		}
		env = append(env, "GIT_SSH_COMMAND="+ssh)
	default:
		port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
		address := a.String()
		if a.Is6() {
			address = "[" + address + "]"
		}
		settings = append(settings, [2]string{"http.curloptResolve", u.Hostname() + ":" + port + ":" + address})
		if h.credential.Secret != "" {
			shown := base64.StdEncoding.EncodeToString([]byte(h.credential.Username + ":" + h.credential.Secret))
			settings = append(settings, [2]string{"http." + h.remote + ".extraHeader", "Authorization: Basic " + shown})
		}
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env, nil
}

// sshCommand returns an ssh command that uses only the connection's key and accepts only its known
// hosts.
func (h *gitHost) sshCommand(home string, u *url.URL, address string) (string, error) {
	key, known := filepath.Join(home, "key"), filepath.Join(home, "known_hosts")
	for path, text := range map[string]string{
		key:   strings.TrimSpace(h.credential.Secret) + "\n",
		known: strings.TrimSpace(h.credential.KnownHosts) + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	alias := u.Hostname()
	if p := u.Port(); p != "" && p != "22" {
		alias = "[" + alias + "]:" + p
	}
	return strings.Join([]string{
		"ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o ClearAllForwardings=yes",
		"-o HostName=" + quoted(address), "-o HostKeyAlias=" + quoted(alias),
		"-o UserKnownHostsFile=" + quoted(known), "-o GlobalKnownHostsFile=/dev/null", "-i " + quoted(key),
	}, " "), nil
}

// quoted returns a quoted shell word.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// The remaining methods are not supported by plain git.

// ChangeRequests implements Host.
func (h *gitHost) ChangeRequests(context.Context, model.Repository) ([]model.ChangeRequest, error) {
	return nil, ErrUnsupported
}

// ChangeRequest implements Host.
func (h *gitHost) ChangeRequest(context.Context, model.Repository, int64) (model.ChangeRequest, error) {
	return model.ChangeRequest{}, ErrUnsupported
}

// SetStatus implements Host.
func (h *gitHost) SetStatus(context.Context, model.Repository, string, Status) error {
	return ErrUnsupported
}

// Comments implements Host.
func (h *gitHost) Comments(context.Context, model.Repository, int64) ([]Comment, error) {
	return nil, ErrUnsupported
}

// AddComment implements Host.
func (h *gitHost) AddComment(context.Context, model.Repository, model.ChangeRequest, Comment) (Comment, error) {
	return Comment{}, ErrUnsupported
}

// EditComment implements Host.
func (h *gitHost) EditComment(context.Context, model.Repository, int64, Comment) error {
	return ErrUnsupported
}

// Reply implements Host.
func (h *gitHost) Reply(context.Context, model.Repository, model.ChangeRequest, Comment, string) error {
	return ErrUnsupported
}

// ResolveComment implements Host.
func (h *gitHost) ResolveComment(context.Context, model.Repository, int64, Comment) error {
	return ErrUnsupported
}

// Permission implements Host.
func (h *gitHost) Permission(context.Context, model.Repository, string) (Permission, Account, error) {
	return MayNothing, Account{}, ErrUnsupported
}

// User implements Host.
func (h *gitHost) User(context.Context, string) (Account, error) { return Account{}, ErrUnsupported }

// Hooks implements Host.
func (h *gitHost) Hooks(context.Context, model.Repository) ([]Hook, error) {
	return nil, ErrUnsupported
}

// AddHook implements Host.
func (h *gitHost) AddHook(context.Context, model.Repository, string, string) (string, error) {
	return "", ErrUnsupported
}

// RemoveHook implements Host.
func (h *gitHost) RemoveHook(context.Context, model.Repository, string) error { return nil }
