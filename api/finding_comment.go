package api

import (
	"context"
	"net/http"
	"strconv"
)

// FindingComment is a comment on a finding.
type FindingComment struct {
	ID          int64    `json:"id" doc:"Id of the comment." example:"12"`
	Text        string   `json:"text,omitempty" doc:"Plain text of the comment; absent after its withdrawal." example:"@ben is this reachable from the shop?"`
	WrittenAt   Time     `json:"written_at" doc:"Time."`
	WrittenBy   string   `json:"written_by" doc:"Author." example:"user:ana"`
	Mentions    []string `json:"mentions" doc:"Names of the mentioned users." example:"[\"ben\"]"`
	WithdrawnAt *Time    `json:"withdrawn_at" nullable:"true" doc:"Time of withdrawal; null if not withdrawn."`
	WithdrawnBy string   `json:"withdrawn_by,omitempty" doc:"User who withdrew it; absent if not withdrawn." example:"user:ana"`
}

// FindingCommentsQuery contains the parameters for listing comments.
type FindingCommentsQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous response."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Comments per page; 0 means the default."`
}

// ListFindingCommentsResponse is one page of comments.
type ListFindingCommentsResponse struct {
	Comments []FindingComment `json:"comments" doc:"Comments, oldest first, including withdrawn ones."`
	Cursor   string           `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// FindingCommentResponse contains one comment.
type FindingCommentResponse struct {
	Comment FindingComment `json:"comment" doc:"The comment after the change."`
}

// AddFindingCommentRequest adds a comment to a finding.
type AddFindingCommentRequest struct {
	_    struct{} `additionalProperties:"false"`
	Text string   `json:"text" minLength:"1" maxLength:"3000" doc:"Plain text. Mentioned users, as @ben, are notified." example:"@ben is this reachable from the shop?"`
}

func findingComments(deployment string, finding int64, more ...string) string {
	return path(append([]string{deployment, "findings", strconv.FormatInt(finding, 10), "comments"}, more...)...)
}

// ListFindingComments returns a page of the comments on a finding.
func (c *Client) ListFindingComments(
	ctx context.Context, deployment string, finding int64, q FindingCommentsQuery,
) (*ListFindingCommentsResponse, error) {
	return answer[ListFindingCommentsResponse](ctx, c, call{
		method: http.MethodGet,
		path:   findingComments(deployment, finding),
		query:  values(q),
	})
}

// AddFindingComment adds a comment to a finding.
func (c *Client) AddFindingComment(
	ctx context.Context, deployment string, finding int64, r AddFindingCommentRequest, options ...Option,
) (*FindingCommentResponse, error) {
	return answer[FindingCommentResponse](ctx, c, call{
		method: http.MethodPost,
		path:   findingComments(deployment, finding),
		body:   r,
	}, options...)
}

// WithdrawFindingComment withdraws a comment.
func (c *Client) WithdrawFindingComment(
	ctx context.Context, deployment string, finding, comment int64, options ...Option,
) (*FindingCommentResponse, error) {
	return answer[FindingCommentResponse](ctx, c, call{
		method: http.MethodPost,
		path:   findingComments(deployment, finding, strconv.FormatInt(comment, 10), "withdraw"),
	}, options...)
}
