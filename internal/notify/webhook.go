package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// secretPrefix is the prefix of secrets in Standard Webhooks.
const secretPrefix = "whsec_"

// signature signs the id, time and body of a message as defined by Standard Webhooks (v1).
func signature(secret, id string, at time.Time, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		key = []byte(secret) // a database modified by others: no receiver can verify it
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// cloudEvent is a message in the format of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion string       `json:"specversion"`
	ID          string       `json:"id"`
	Source      string       `json:"source"`
	Type        string       `json:"type"`
	Time        time.Time    `json:"time"`
	Subject     string       `json:"subject,omitempty"`
	ContentType string       `json:"datacontenttype"`
	Sequence    string       `json:"sequence"` // increases in the order in which messages were queued
	Data        redoubtEvent `json:"data"`
}

// redoubtEvent is the data of an event, with links.
type redoubtEvent struct {
	Rule       string                  `json:"rule"`
	Title      string                  `json:"title"`
	Reason     string                  `json:"reason,omitempty"`
	Count      int                     `json:"count"`
	Severities map[string]int          `json:"severities,omitempty"`
	Findings   []linkedFinding         `json:"findings"`
	Projects   []model.NotifiedProject `json:"projects,omitempty"`
	ScanID     int64                   `json:"scan_id,omitempty"`
	RunID      int64                   `json:"run_id,omitempty"`
	Assignee   string                  `json:"assignee,omitempty"`
	RequestID  int64                   `json:"request_id,omitempty"`
	Requester  string                  `json:"asker,omitempty"`
	CommentID  int64                   `json:"comment_id,omitempty"`
	Author     string                  `json:"author,omitempty"`
	URL        string                  `json:"url"`
	Test       bool                    `json:"test,omitempty"`
}

type linkedFinding struct {
	model.NotifiedFinding
	URL string `json:"url"`
}

// eventType is the prefix of our event types.
const eventType = "redoubt."

// webhook returns the headers and body of a message.
func (s sending) webhook(target model.NotificationTarget, now time.Time) (http.Header, []byte, error) {
	m := s.message
	data := redoubtEvent{
		Rule: m.Rule, Title: m.Title, Reason: m.Reason, Count: m.Count,
		Severities: m.Severities, Findings: []linkedFinding{}, Projects: m.Projects,
		ScanID: m.Scan, RunID: m.Run, Assignee: m.Assignee, RequestID: m.Request,
		Requester: m.Requester, CommentID: m.Comment, Author: m.Author, URL: s.url(m.Path), Test: m.Test,
	}
	for _, f := range m.Findings {
		data.Findings = append(data.Findings, linkedFinding{f, s.finding(f.ID)})
	}
	event := cloudEvent{
		SpecVersion: "1.0", ID: s.id, Source: s.base,
		Type: eventType + m.Event.String(), Time: m.At, ContentType: "application/json",
		Sequence: strconv.FormatInt(s.sequence, 10), Data: data,
	}
	if len(m.Projects) == 1 {
		event.Subject = m.Projects[0].Name
	}
	body, err := json.Marshal(event)
	if err != nil {
		return nil, nil, err
	}
	signed := signature(target.Secret, s.id, now, body)
	if target.Before != "" && now.Before(target.BeforeUntil) {
		signed += " " + signature(target.Before, s.id, now, body)
	}
	return http.Header{
		"Content-Type": {"application/cloudevents+json; charset=utf-8"}, "Webhook-Id": {s.id},
		"Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signed},
	}, body, nil
}
