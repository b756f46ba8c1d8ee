package notify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Untrusted texts are formatted as code, in which chats create no mentions, formatting or links.
// Other texts, such as titles, are escaped for each chat.

// maxChatPart limits each untrusted text of a chat message, in characters. Ten findings with three
// texts each fit the limit of Discord.
const maxChatPart = 60

// chat returns the request of a message to an incoming webhook.
func (s sending) chat(c model.NotificationChannel) (http.Header, []byte, error) {
	var body any
	switch c {
	case model.ChannelSlack:
		body = s.slack()
	case model.ChannelTeams:
		body = s.teams()
	case model.ChannelDiscord:
		// no link previews
		body = map[string]any{
			"content":          shorten(s.markdown(), 2000),
			"allowed_mentions": map[string]any{"parse": []string{}},
			"flags":            1 << 2,
		}
	case model.ChannelMattermost:
		body = map[string]any{"text": s.markdown()}
	default:
		return nil, nil, fmt.Errorf("the channel %s is not a chat", c)
	}
	text, err := json.Marshal(body)
	return http.Header{"Content-Type": {"application/json; charset=utf-8"}}, text, err
}

// shorten removes lines from the end until the text has at most most characters.
func shorten(s string, most int) string {
	for len([]rune(s)) > most {
		s = s[:max(strings.LastIndexByte(s, '\n'), 0)]
	}
	return s
}

// codeSpan formats a text as code for Markdown and Slack.
func codeSpan(s string) string {
	s = strings.ReplaceAll(cut(s, maxChatPart), "`", "'")
	if strings.TrimSpace(s) == "" {
		return "`?`"
	}
	return "`" + s + "`"
}

// markdownSpecial contains the characters with a meaning in Markdown.
const markdownSpecial = "\\`*_{}[]<>()#+-.!|~&$:\"'=^/@"

// plainMarkdown escapes a text as Markdown: the result has no formatting, mentions or links.
func plainMarkdown(s string) string {
	var b strings.Builder
	for _, r := range cut(s, 500) {
		if strings.ContainsRune(markdownSpecial, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		if strings.ContainsRune("@#:.", r) { // chats detect names and addresses after rendering, too
			b.WriteRune('\u200b')
		}
	}
	return b.String()
}

// chatLine describes a finding, with its texts as code.
func chatLine(f model.NotifiedFinding) string {
	return f.Severity + " " + codeSpan(f.Rule) + " " + codeSpan(f.Project) + " " + codeSpan(f.Location)
}

// markdown returns a message for Mattermost and Discord.
func (s sending) markdown() string {
	m := s.message
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", plainMarkdown(m.Title))
	if m.Reason != "" {
		fmt.Fprintf(&b, "%s\n", plainMarkdown(m.Reason))
	}
	fmt.Fprintf(&b, "[Open in Redoubt](<%s>)\n", s.url(m.Path))
	for _, f := range m.Findings {
		fmt.Fprintf(&b, "- %s [#%d](<%s>)\n", chatLine(f), f.ID, s.finding(f.ID))
	}
	for _, p := range m.Projects {
		fmt.Fprintf(&b, "- %s\n", codeSpan(p.Name))
	}
	if more := m.more(); more != "" {
		fmt.Fprintf(&b, "%s\n", more)
	}
	return b.String()
}

// slackEscape escapes the control characters of Slack. Formatting such as bold needs no escapes,
// because untrusted texts are code.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackPlain escapes a text so that Slack does not format it.
func slackPlain(s string) string {
	return slackEscape.Replace(strings.NewReplacer("*", "∗", "_", "ˍ", "~", "∼", "`", "'").Replace(cut(s, 500)))
}

func (s sending) slack() any {
	m := s.message
	lines := []string{"*" + slackPlain(m.Title) + "*"}
	if m.Reason != "" {
		lines = append(lines, slackPlain(m.Reason))
	}
	lines = append(lines, "<"+slackEscape.Replace(s.url(m.Path))+"|Open in Redoubt>")
	for _, f := range m.Findings {
		lines = append(
			lines, fmt.Sprintf("• %s <%s|#%d>", slackEscape.Replace(chatLine(f)), slackEscape.Replace(s.finding(f.ID)), f.ID),
		)
	}
	for _, p := range m.Projects {
		lines = append(lines, "• "+slackEscape.Replace(codeSpan(p.Name)))
	}
	if more := m.more(); more != "" {
		lines = append(lines, more)
	}
	// verbatim: Slack creates no links or mentions by itself
	text := map[string]any{"type": "mrkdwn", "text": shorten(strings.Join(lines, "\n"), 3000), "verbatim": true}
	return map[string]any{
		"text":         slackPlain(m.Title),
		"blocks":       []any{map[string]any{"type": "section", "text": text}},
		"unfurl_links": false,
	}
}

// teams returns an adaptive card. The runs of a RichTextBlock are not parsed as Markdown.
func (s sending) teams() any {
	m := s.message
	run := func(text, weight string) any {
		return map[string]any{"type": "TextRun", "text": cut(text, 500), "weight": weight}
	}
	block := func(runs ...any) any { return map[string]any{"type": "RichTextBlock", "inlines": runs} }
	body := []any{block(run(m.Title, "Bolder"))}
	if m.Reason != "" {
		body = append(body, block(run(m.Reason, "Default")))
	}
	for _, f := range m.Findings {
		link := map[string]any{
			"type":         "TextRun",
			"text":         fmt.Sprintf("#%d ", f.ID),
			"selectAction": map[string]any{"type": "Action.OpenUrl", "url": s.finding(f.ID)},
		}
		body = append(
			body, block(link, run(
				f.Severity+" "+cut(f.Rule, 200)+" in "+cut(f.Project, 200)+", "+cut(f.Location, 200), "Default",
			)),
		)
	}
	for _, p := range m.Projects {
		body = append(body, block(run(p.Name, "Default")))
	}
	if more := m.more(); more != "" {
		body = append(body, block(run(more, "Default")))
	}
	card := map[string]any{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body,
		"actions": []any{map[string]any{"type": "Action.OpenUrl", "title": "Open in Redoubt", "url": s.url(m.Path)}},
	}
	return map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
	}}}
}
