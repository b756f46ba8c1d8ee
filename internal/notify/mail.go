package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/redoubt/redoubt/internal/model"
)

// Mail configures the mail server. An administrator configures it, so it may have any address.
type Mail struct {
	Host     string // empty: no mail is sent
	Port     int
	User     string // empty: without authentication
	Password string
	From     string // sender, as redoubt@example.com or Redoubt <redoubt@example.com>
	TLS      string // starttls, tls or none
}

// Works reports whether mail can be sent.
func (m Mail) Works() bool { return m.Host != "" && m.From != "" }

// String omits the credentials.
func (m Mail) String() string { return fmt.Sprintf("(mail by %s:%d)", m.Host, m.Port) }

// GoString omits the credentials.
func (m Mail) GoString() string { return m.String() }

// client returns a client that authenticates if a user is configured.
func (m Mail) client() (*mail.Client, error) {
	options := []mail.Option{mail.WithPort(m.Port), mail.WithTimeout(sendFor)}
	switch m.TLS {
	case "tls":
		options = append(options, mail.WithSSL())
	case "none":
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if m.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.User),
			mail.WithPassword(m.Password))
	}
	return mail.NewClient(m.Host, options...)
}

// mailRefusedError is an error that makes a later attempt pointless.
type mailRefusedError struct{ error }

// Forbidden reports that another attempt is unlikely to succeed.
func (mailRefusedError) Forbidden() bool { return true }

// mail sends messages to a person as one mail.
func (d *delivery) mail(ctx context.Context, list []model.Notification) error {
	if !d.Mail.Works() {
		return mailRefusedError{errors.New("this server sends no e-mail: an administrator of the server must set " +
			"--smtp-host and --smtp-from")}
	}
	letter, err := d.letter(list)
	if err != nil {
		return mailRefusedError{err}
	}
	client, err := d.Mail.client()
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, letter)
	if letter.IsDelivered() { // accepted by the server: ignore later errors
		return nil
	}
	if refused, ok := errors.AsType[*mail.SendError](err); ok && !refused.IsTemp() && refused.ErrorCode() >= 500 {
		return mailRefusedError{err}
	}
	return err
}

// mailNames is the maximum number of findings listed in one mail.
const mailNames = 100

// letter returns one mail of messages. It is plain text, so it contains no active content.
func (d *delivery) letter(list []model.Notification) (*mail.Msg, error) {
	letter := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := letter.From(d.Mail.From); err != nil {
		return nil, fmt.Errorf("--smtp-from: %w", err)
	}
	if err := letter.To(d.to.Address); err != nil {
		return nil, err
	}
	var b strings.Builder
	subject := cut(list[0].Message.Title, 150)
	if len(list) > 1 {
		subject = fmt.Sprintf("%d notifications", len(list))
	}
	named := 0
	for i, n := range list {
		if i > 0 {
			b.WriteString("\n--\n\n")
		}
		s := sendingOf(d.base, n)
		s.message.Findings = s.message.Findings[:min(len(s.message.Findings), mailNames-named)]
		named += len(s.message.Findings)
		b.WriteString(s.text())
	}
	if list[0].Message.Person != 0 {
		fmt.Fprintf(&b, "\nYou received this e-mail because it concerns you at %s. Change the address or turn such "+
			"e-mails off: %s/account\n", d.base, d.base)
	} else {
		fmt.Fprintf(&b, "\nAn administrator of %s added you to the notification rule %s.\n",
			d.base, unlinked(list[0].Message.Rule))
	}
	letter.Subject("[Redoubt] " + subject)
	letter.SetBodyString(mail.TypeTextPlain, b.String())
	letter.SetDate()
	letter.SetGenHeader("Auto-Submitted", "auto-generated")
	of := sha256.Sum256([]byte(fmt.Sprint(sendingOf(d.base, list[0]).id, len(list), d.to.Address)))
	letter.SetMessageIDWithValue(hex.EncodeToString(of[:16]) + "@" + d.Mail.Host)
	return letter, nil
}

// unlinked escapes an untrusted text so that mail programs create no links.
func unlinked(s string) string {
	return strings.NewReplacer(".", ".\u200b", "@", "@\u200b", "://", ":\u200b//").Replace(cut(s, 500))
}

// escapeLocation escapes a path and line so that they can still be copied. Dots are not escaped,
// although some programs create links for paths such as example.com/a.
func escapeLocation(s string) string {
	return strings.NewReplacer("@", "@\u200b", "://", ":\u200b//", "www.", "www\u200b.").Replace(cut(s, 500))
}

// text formats a message for mail.
func (s sending) text() string {
	m := s.message
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", unlinked(m.Title))
	if m.Reason != "" {
		fmt.Fprintf(&b, "%s\n", unlinked(m.Reason))
	}
	fmt.Fprintf(&b, "%s\n", s.url(m.Path))
	for _, f := range m.Findings {
		fmt.Fprintf(&b, "\n- %s %s in %s\n  %s\n  %s\n",
			f.Severity, unlinked(f.Rule), unlinked(f.Project), escapeLocation(f.Location), s.finding(f.ID))
	}
	for _, p := range m.Projects {
		fmt.Fprintf(&b, "\n- %s\n", unlinked(p.Name))
	}
	if more := m.more(); more != "" {
		fmt.Fprintf(&b, "\n%s: %s\n", strings.TrimSuffix(more, "."), s.url(m.Path))
	}
	return b.String()
}
