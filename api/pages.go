package api

import (
	"context"
	"iter"
)

// Findings yields all code findings of a query, page by page. If findings are added meanwhile, one
// may be yielded twice, but each is yielded at least once.
func (c *Client) Findings(ctx context.Context, deployment string, q FindingsQuery) iter.Seq2[CodeFinding, error] {
	q.IssueType = "sast"
	return numbered(&q.Page, func() (*ListFindingsResponse, error) { return c.ListFindings(ctx, deployment, q) },
		func(a *ListFindingsResponse) []CodeFinding { return a.SASTFindings.Findings })
}

// SupplyChainFindings yields all supply-chain findings of a query.
func (c *Client) SupplyChainFindings(
	ctx context.Context, deployment string, q FindingsQuery,
) iter.Seq2[SupplyChainFinding, error] {
	q.IssueType = "sca"
	return numbered(&q.Page, func() (*ListFindingsResponse, error) { return c.ListFindings(ctx, deployment, q) },
		func(a *ListFindingsResponse) []SupplyChainFinding { return a.SCAFindings.Findings })
}

// Projects yields all projects by name.
func (c *Client) Projects(ctx context.Context, deployment string, q ProjectsQuery) iter.Seq2[Project, error] {
	return numbered(&q.Page, func() (*ListProjectsResponse, error) { return c.ListProjects(ctx, deployment, q) },
		func(a *ListProjectsResponse) []Project { return a.Projects })
}

// Dependencies yields all dependencies of a request, each exactly once.
func (c *Client) Dependencies(
	ctx context.Context, deployment string, r ListDependenciesRequest,
) iter.Seq2[Dependency, error] {
	return cursored(&r.Cursor, func() (*ListDependenciesResponse, error) { return c.ListDependencies(ctx, deployment, r) },
		func(a *ListDependenciesResponse) ([]Dependency, string) { return a.Dependencies, a.Cursor })
}

// DependencyRepositories yields all projects that have dependencies.
func (c *Client) DependencyRepositories(
	ctx context.Context, deployment string, r ListDependencyRepositoriesRequest,
) iter.Seq2[RepositorySummary, error] {
	return cursored(&r.Cursor, func() (*ListDependencyRepositoriesResponse, error) {
		return c.ListDependencyRepositories(ctx, deployment, r)
	},
		func(a *ListDependencyRepositoriesResponse) ([]RepositorySummary, string) {
			return a.RepositorySummaries, a.Cursor
		})
}

// Lockfiles yields all lockfiles of a project.
func (c *Client) Lockfiles(
	ctx context.Context, deployment, repositoryID string, r ListLockfilesRequest,
) iter.Seq2[LockfileSummary, error] {
	return cursored(&r.Cursor, func() (*ListLockfilesResponse, error) {
		return c.ListLockfiles(ctx, deployment, repositoryID, r)
	},
		func(a *ListLockfilesResponse) ([]LockfileSummary, string) { return a.LockfileSummaries, a.Cursor })
}

// Scans yields all scans of a search, newest first.
func (c *Client) Scans(ctx context.Context, deployment string, r SearchScansRequest) iter.Seq2[Scan, error] {
	return cursored(&r.Cursor, func() (*SearchScansResponse, error) { return c.SearchScans(ctx, deployment, r) },
		func(a *SearchScansResponse) ([]Scan, string) { return a.Scans, a.Cursor })
}

// PolicyRules yields all rules of a policy.
func (c *Client) PolicyRules(
	ctx context.Context, deployment, policyID string, q PolicyRulesQuery,
) iter.Seq2[PolicyRule, error] {
	return cursored(&q.Cursor, func() (*ListPolicyRulesResponse, error) {
		return c.ListPolicyRules(ctx, deployment, policyID, q)
	},
		func(a *ListPolicyRulesResponse) ([]PolicyRule, string) { return a.Rules, a.Cursor })
}

// Exceptions yields all exceptions of a query, newest first.
func (c *Client) Exceptions(ctx context.Context, deployment string, q ExceptionsQuery) iter.Seq2[Exception, error] {
	return cursored(&q.Cursor, func() (*ListExceptionsResponse, error) { return c.ListExceptions(ctx, deployment, q) },
		func(a *ListExceptionsResponse) ([]Exception, string) { return a.Exceptions, a.Cursor })
}

// Tickets yields all tickets that are visible to the token, by id.
func (c *Client) Tickets(ctx context.Context, deployment string, q TicketsQuery) iter.Seq2[Ticket, error] {
	return cursored(&q.Cursor, func() (*ListTicketsResponse, error) { return c.ListTickets(ctx, deployment, q) },
		func(a *ListTicketsResponse) ([]Ticket, string) { return a.Tickets, a.Cursor })
}

// VEXStatements yields all statements of a VEX document, in document order.
func (c *Client) VEXStatements(
	ctx context.Context, deployment string, id int64, q ExceptionQuery,
) iter.Seq2[VEXStatement, error] {
	return cursored(&q.Cursor, func() (*ExceptionResponse, error) { return c.GetException(ctx, deployment, id, q) },
		func(a *ExceptionResponse) ([]VEXStatement, string) { return a.Statements, a.Cursor })
}

// Secrets yields all secrets of a query.
func (c *Client) Secrets(ctx context.Context, deployment string, q SecretsQuery) iter.Seq2[Secret, error] {
	return cursored(&q.Cursor, func() (*ListSecretsResponse, error) { return c.ListSecrets(ctx, deployment, q) },
		func(a *ListSecretsResponse) ([]Secret, string) { return a.Findings, a.Cursor })
}

// FollowFindings yields all changes since a cursor or a time, page by page. Store the cursor of
// each page: a later call continues there.
func (c *Client) FollowFindings(
	ctx context.Context, deployment string, q FindingChangesQuery,
) iter.Seq2[*FindingChangesResponse, error] {
	return func(yield func(*FindingChangesResponse, error) bool) {
		for more := true; more; {
			answer, err := c.FindingChanges(ctx, deployment, q)
			if !yield(answer, err) || err != nil {
				return
			}
			q.Cursor, more = answer.Cursor, answer.HasMore
		}
	}
}

// Impact yields all findings of a vulnerability.
func (c *Client) Impact(ctx context.Context, deployment, id string, q ImpactQuery) iter.Seq2[Impact, error] {
	return cursored(&q.Cursor, func() (*ImpactResponse, error) { return c.AdvisoryImpact(ctx, deployment, id, q) },
		func(a *ImpactResponse) ([]Impact, string) { return a.Impact, a.Cursor })
}

// Notifications yields all notifications of a rule.
func (c *Client) Notifications(
	ctx context.Context, deployment string, rule int64, q NotificationsQuery,
) iter.Seq2[Notification, error] {
	return cursored(&q.Cursor, func() (*ListNotificationsResponse, error) {
		return c.ListNotifications(ctx, deployment, rule, q)
	},
		func(a *ListNotificationsResponse) ([]Notification, string) { return a.Notifications, a.Cursor })
}

// Deliveries yields all deliveries of a connection.
func (c *Client) Deliveries(
	ctx context.Context, deployment string, connection int64, q DeliveriesQuery,
) iter.Seq2[Delivery, error] {
	return cursored(&q.Cursor, func() (*ListDeliveriesResponse, error) {
		return c.ListDeliveries(ctx, deployment, connection, q)
	},
		func(a *ListDeliveriesResponse) ([]Delivery, string) { return a.Deliveries, a.Cursor })
}

// numbered yields the items of numbered pages until a page is empty. page points into the query
// that fetch sends.
func numbered[A, T any](page *int64, fetch func() (*A, error), items func(*A) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for ; ; *page++ {
			answer, err := fetch()
			if err != nil {
				pass(nil, err, yield)
				return
			}
			if list := items(answer); !pass(list, nil, yield) || len(list) == 0 {
				return
			}
		}
	}
}

// cursored yields the items of pages until the cursor is empty. cursor points into the query that
// fetch sends.
func cursored[A, T any, C ~string](
	cursor *C, fetch func() (*A, error), items func(*A) ([]T, string),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			answer, err := fetch()
			if err != nil {
				pass(nil, err, yield)
				return
			}
			list, next := items(answer)
			if !pass(list, nil, yield) || next == "" {
				return
			}
			*cursor = C(next)
		}
	}
}

// pass yields items, or err if it is set. It returns false when iteration must stop.
func pass[T any](items []T, err error, yield func(T, error) bool) bool {
	if err != nil {
		var zero T
		yield(zero, err)
		return false
	}
	for _, item := range items {
		if !yield(item, nil) {
			return false
		}
	}
	return true
}
