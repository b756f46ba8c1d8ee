package mcp

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
)

const textMedia = "text/plain"

func (a *assistant) resources(s *sdk.Server) {
	s.AddResource(&sdk.Resource{
		URI: "redoubt://me", Name: "me", Title: "Current token", MIMEType: textMedia,
		Description: "The token, its permissions and its deployment.",
	}, a.resource(func(ctx context.Context, _ string) (any, error) { return a.Client.Me(ctx) }))
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: "redoubt://findings/{id}", Name: "finding", Title: "A finding", MIMEType: textMedia,
		Description: "A finding with its code, flow and precedent.",
	}, a.resource(func(ctx context.Context, name string) (any, error) {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return nil, &api.Problem{Code: api.CodeNotFound}
		}
		return a.finding(ctx, id)
	}))
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: "redoubt://projects/{+name}", Name: "project", Title: "A project", MIMEType: textMedia,
		Description: "A project by its name, such as redoubt://projects/acme/payments.",
	}, a.resource(func(ctx context.Context, name string) (any, error) {
		return a.Client.GetProject(ctx, a.Deployment, name)
	}))
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: "redoubt://advisories/{id}", Name: "advisory", Title: "An advisory", MIMEType: textMedia,
		Description: "A vulnerability, by any of its ids.",
	}, a.resource(func(ctx context.Context, name string) (any, error) {
		return a.Client.GetAdvisory(ctx, a.Deployment, name)
	}))
}

// resource returns a handler that calls read with the unescaped path of the address.
func (a *assistant) resource(read func(ctx context.Context, name string) (any, error)) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		_, rest, _ := strings.Cut(r.Params.URI, "://")
		_, name, _ := strings.Cut(rest, "/")
		name, err := url.PathUnescape(name)
		if err != nil {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		data, err := read(ctx, name)
		var p *api.Problem
		if errors.As(err, &p) && p.Code == api.CodeNotFound {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		if err != nil {
			return nil, err
		}
		text, err := fenced("Data from Redoubt.", data)
		return &sdk.ReadResourceResult{
			Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: textMedia, Text: text}},
		}, err
	}
}
