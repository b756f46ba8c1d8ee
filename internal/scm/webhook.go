package scm

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// EventKind is the kind of an event.
type EventKind uint8

// Kinds of events.
const (
	EventOther      EventKind = iota // ignored
	EventPush                        // the head of a branch changed
	EventChange                      // a change request was opened, updated or closed
	EventRepository                  // a repository was created, renamed, archived or deleted
	EventComment                     // a comment on a change request was added
)

// Event is the content of a webhook that is used. Details of change requests are requested from the
// host: a webhook is only the trigger.
type Event struct {
	Kind       EventKind
	Name       string // the host's name of the event
	Repository string // the host's id; empty: none
	Branch     string // of EventPush, without refs/heads/
	Commit     string // of EventPush, empty if the branch was deleted; of EventChange the head, empty if missing
	Number     int64  // of EventChange and EventComment
}

// lacking returns the wanted events that a webhook does not send.
func lacking(wanted, sent []string) string {
	var lacks []string
	for _, event := range wanted {
		if !slices.Contains(sent, event) && !slices.Contains(sent, "*") {
			lacks = append(lacks, event)
		}
	}
	return strings.Join(lacks, ", ")
}

// ErrSignature means that the signature of a webhook is invalid.
var ErrSignature = errors.New("invalid webhook signature")

// ReadWebhook verifies the signature of a webhook and parses it. An invalid signature is
// ErrSignature.
func ReadWebhook(kind model.HostKind, secret string, header http.Header, body []byte) (Event, error) {
	if secret == "" || !validSignature(kind, secret, header, body) {
		return Event{}, ErrSignature
	}
	e := Event{Name: header.Get(map[model.HostKind]string{
		model.HostGitea: "X-Gitea-Event", model.HostGitHub: "X-Github-Event", model.HostGitLab: "X-Gitlab-Event",
	}[kind])}
	e.Name = model.Shorten(model.Line(e.Name), 60)
	var sent payload
	if err := json.Unmarshal(body, &sent); err != nil {
		return e, errors.New("the webhook is not JSON: set its content type to application/json")
	}
	sent.into(&e)
	return e, nil
}

// MayBeSigned reports whether the headers of a webhook have a well-formed signature, so that its
// body is worth reading. For GitLab, which sends the secret itself, it compares the secret.
func MayBeSigned(kind model.HostKind, secret string, header http.Header) bool {
	if kind == model.HostGitLab {
		return subtle.ConstantTimeCompare([]byte(secret), []byte(header.Get("X-Gitlab-Token"))) == 1
	}
	sum, err := hex.DecodeString(signature(kind, header))
	return err == nil && len(sum) == sha256.Size
}

// signature returns the signature of a webhook in hexadecimal digits, or "".
func signature(kind model.HostKind, header http.Header) string {
	switch kind {
	case model.HostGitea:
		return header.Get("X-Gitea-Signature")
	case model.HostGitHub:
		sum, is := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
		if is {
			return sum
		}
	}
	return ""
}

// validSignature verifies a signature in constant time.
func validSignature(kind model.HostKind, secret string, header http.Header, body []byte) bool {
	if kind == model.HostGitLab {
		return MayBeSigned(kind, secret, header)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(signature(kind, header)))
}

// payload combines the webhook bodies of all hosts. The hosts use the same names for the same
// values, and different names for different ones.
type payload struct {
	Ref        string `json:"ref"`
	After      string `json:"after"`
	Repository struct {
		ID json.Number `json:"id"`
	} `json:"repository"`
	Number int64 `json:"number"`
	Pull   *struct {
		Number int64 `json:"number"`
		Head   struct {
			SHA string `json:"sha"`
		} `json:"head"`
	} `json:"pull_request"`
	Issue struct {
		Number int64     `json:"number"`
		Pull   *struct{} `json:"pull_request"`
	} `json:"issue"`
	Comment struct {
		Body *string `json:"body"`
	} `json:"comment"`
	// GitLab
	ProjectID  json.Number `json:"project_id"`
	Attributes *struct {
		IID  int64   `json:"iid"`
		Note *string `json:"note"`
		Last struct {
			ID string `json:"id"`
		} `json:"last_commit"`
	} `json:"object_attributes"`
	Merge struct {
		IID int64 `json:"iid"`
	} `json:"merge_request"`
	Project struct {
		ID json.Number `json:"id"`
	} `json:"project"`
}

func (p payload) into(e *Event) {
	for _, id := range []json.Number{p.Repository.ID, p.ProjectID, p.Project.ID} {
		if n, err := id.Int64(); err == nil && n > 0 && e.Repository == "" {
			e.Repository = strconv.FormatInt(n, 10)
		}
	}
	switch e.Name {
	case "push", "Push Hook":
		branch, is := strings.CutPrefix(p.Ref, "refs/heads/")
		if !is || strings.ContainsFunc(branch, model.IsControl) || len(branch) > 500 {
			return // a tag
		}
		e.Kind, e.Branch, e.Commit = EventPush, branch, commitOf(p.After)
	case "pull_request", "pull_request_sync", "Merge Request Hook":
		e.Kind, e.Number = EventChange, p.Number
		if p.Pull != nil {
			e.Number, e.Commit = p.Pull.Number, commitOf(p.Pull.Head.SHA)
		}
		if p.Attributes != nil {
			e.Number, e.Commit = p.Attributes.IID, commitOf(p.Attributes.Last.ID)
		}
		if e.Number <= 0 {
			e.Kind = EventOther
		}
	case "issue_comment", "pull_request_review_comment", "pull_request_comment", "Note Hook":
		p.comment(e)
	case "repository", "installation_repositories":
		e.Kind = EventRepository
	}
}

// commitOf returns the id of a commit, or "" if it is invalid.
func commitOf(id string) string {
	if !commitID.MatchString(id) || strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// command is the text that marks a comment as a command.
const command = "/redoubt"

// comment sets the event of a comment if it is on a change request and contains a command. Gitea
// does not send the text of comments on lines, which are always accepted.
func (p payload) comment(e *Event) {
	text := p.Comment.Body
	if p.Attributes != nil && p.Attributes.Note != nil {
		text = p.Attributes.Note
	}
	switch {
	case text != nil && !strings.Contains(*text, command):
	case p.Pull != nil && p.Pull.Number > 0:
		e.Kind, e.Number = EventComment, p.Pull.Number
	case p.Issue.Pull != nil && p.Issue.Number > 0:
		e.Kind, e.Number = EventComment, p.Issue.Number
	case p.Merge.IID > 0:
		e.Kind, e.Number = EventComment, p.Merge.IID
	}
}
