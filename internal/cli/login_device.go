package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
)

// deviceGrant is the grant type of the device flow (RFC 8628).
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// maxClientName is the maximum length of the client's name in characters.
const maxClientName = 80

// deviceCodes is the response that starts the device flow.
type deviceCodes struct {
	Device       string `json:"device_code"`
	User         string `json:"user_code"`
	Page         string `json:"verification_uri"`
	CompletePage string `json:"verification_uri_complete"`
	Expires      int64  `json:"expires_in"` // seconds
	Interval     int64  `json:"interval"`   // seconds
}

// byBrowser obtains a token by the device flow.
func (c LoginCmd) byBrowser(a *command.App, server string) (login webapi.Login, err error) {
	s := webapi.AuthServer(server)
	client, codes, err := c.begin(a, s)
	if err != nil {
		return login, err
	}
	fmt.Fprintf(a.Err, "Open %s and enter the code %s,\nor open %s\nCheck that the page shows the same code, "+
		"and approve the request.\n", codes.Page, codes.User, codes.CompletePage)
	if !c.NoBrowser && term.IsTerminal(int(os.Stdin.Fd())) && isTerminal(a.Err) {
		openBrowser(a, codes.CompletePage)
	}
	issued, err := waitForToken(a, s, client, codes)
	if err != nil {
		return login, err
	}
	return webapi.Login{URL: server, ClientID: client}.With(issued, a.Clock()), nil
}

// begin registers the client and requests codes. A registration leaves no state on the server.
func (c LoginCmd) begin(a *command.App, s webapi.AuthServer) (client string, codes deviceCodes, err error) {
	var registered struct {
		ID string `json:"client_id"`
	}
	err = s.Post(a.Ctx, "register", map[string]any{
		"client_name": clientName(),
		"grant_types": []string{deviceGrant, "refresh_token"},
	}, &registered)
	if err == nil {
		wish := url.Values{"client_id": {registered.ID}, "scope": {"read write"}}
		if c.ReadOnly {
			wish.Set("scope", "read")
		}
		err = s.Post(a.Ctx, "device_authorization", wish, &codes)
	}
	var refused *webapi.AuthError
	var other *webapi.AuthStatusError
	switch {
	case err == nil:
		return registered.ID, codes, nil
	case errors.As(err, &other) && other.Status == http.StatusTooManyRequests:
		err = fmt.Errorf("too many pending sign-ins at %s: retry in a few minutes, or create a token on its "+
			"tokens page and run redoubt login %s --token -", s, s)
	case errors.As(err, &other) || errors.As(err, &refused): // also servers that require a redirect URI
		err = fmt.Errorf("%s does not support device codes: it is an older version, or not a Redoubt server. Create a token "+
			"on its tokens page and run redoubt login %s --token -: %w", s, s, err)
	default:
		err = fmt.Errorf("cannot reach %s: %w", s, err)
	}
	return "", codes, err
}

// clientName returns the name of the client on the approval page and in the list of tokens.
func clientName() string {
	name := "redoubt"
	if host, err := os.Hostname(); err == nil && host != "" {
		name += " on " + model.Line(strings.ToValidUTF8(host, ""))
	}
	if runes := []rune(name); len(runes) > maxClientName {
		name = string(runes[:maxClientName])
	}
	return name
}

// waitForToken polls until the user has decided. A terminal shows the remaining time.
func waitForToken(
	a *command.App, s webapi.AuthServer, client string, codes deviceCodes,
) (out webapi.IssuedToken, err error) {
	end := a.Clock().Add(time.Duration(codes.Expires) * time.Second)
	every := time.Duration(max(codes.Interval, 1)) * time.Second
	for a.Clock().Before(end) {
		if err := waitShown(a, end, every); err != nil {
			return out, err
		}
		err := s.Post(a.Ctx, "token", url.Values{
			"grant_type":  {deviceGrant},
			"client_id":   {client},
			"device_code": {codes.Device},
		}, &out)
		var refused *webapi.AuthError
		switch {
		case err == nil:
			return out, nil
		case a.Ctx.Err() != nil:
			return out, a.Ctx.Err()
		case errors.As(err, &refused) && refused.Code == "access_denied":
			return out, errors.New("access denied on the page; no login was stored")
		case errors.As(err, &refused) && refused.Code == "expired_token":
			return out, fmt.Errorf("the code %s expired before approval: run redoubt login again", codes.User)
		case errors.As(err, &refused) && refused.Code == "authorization_pending":
		case errors.As(err, &refused) && refused.Code != "slow_down":
			return out, err
		default: // polling too often, or a temporary failure of the server
			every += 5 * time.Second
		}
	}
	return out, fmt.Errorf("the request was not approved within %s: run redoubt login again",
		time.Duration(codes.Expires)*time.Second)
}

// waitShown waits for d and updates the remaining time on a terminal each second.
func waitShown(a *command.App, end time.Time, d time.Duration) error {
	shown := isTerminal(a.Err)
	for ; d > 0; d -= time.Second {
		if shown {
			left := max(end.Sub(a.Clock()), 0).Round(time.Second)
			fmt.Fprintf(command.Raw(a.Err), "\rWaiting for approval, %s left \x1b[K", left)
		}
		select {
		case <-time.After(min(d, time.Second)):
		case <-a.Ctx.Done():
			return a.Ctx.Err()
		}
	}
	if shown {
		fmt.Fprint(command.Raw(a.Err), "\r\x1b[K")
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := command.Raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// openBrowser opens a page if a graphical session exists.
func openBrowser(a *command.App, page string) {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return
	}
	var cmd *exec.Cmd
	switch {
	case runtime.GOOS == "darwin":
		cmd = exec.CommandContext(a.Ctx, "open", u.String())
	case runtime.GOOS == "windows":
		cmd = exec.CommandContext(a.Ctx, "rundll32", "url.dll,FileProtocolHandler", u.String())
	case a.Getenv("DISPLAY") != "" || a.Getenv("WAYLAND_DISPLAY") != "":
		cmd = exec.CommandContext(a.Ctx, "xdg-open", u.String()) //nolint:gosec // it begins with http
	default:
		return
	}
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // on failure the user opens the printed address
	}
}
