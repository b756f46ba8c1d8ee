package decisions

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listExceptions": {
		Summary: "List exceptions",
		Text: "Requested, active and past exceptions, newest first, in pages. Pass `cursor` to get the next page; it " +
			"is absent on the last page. The last 10,000 past exceptions are stored. A token that is restricted to " +
			"projects sees the exceptions of its projects.",
	},
	"createException": {
		Summary: "Create an exception",
		Text: "Ignores current and future findings of a rule or a vulnerability until a date. Triage by users takes " +
			"precedence. Either `until` or `forever` is required. `projects` and `paths` are at most 100 globs each, of 1 " +
			"to 512 characters without control characters. A path glob has no `!` or `#`, no leading `./`, no `//`, " +
			"no backslash and no surrounding spaces. `target` has no spaces. `dry_run` returns the findings that " +
			"would change and a `selection`. A request with this selection applies exactly this change or none.",
	},
	"getException": {
		Summary: "Get an exception",
		Text: "An exception by its id. `ending` adds the effect of its deletion. For a VEX document, the statements " +
			"are included in pages, and for a requested one, the effect of each statement.",
	},
	"deleteException": {
		Summary: "Delete an exception",
		Text: "Ends an active exception and reopens the findings that it ignored. Findings decided by users, other " +
			"exceptions or VEX documents are unchanged. With the `selection` from `getException` with `ending`, " +
			"exactly that change is applied or none. An exception that is not active is a 404.",
	},
	"requestException": {
		Summary: "Request an exception",
		Text: "Requests an exception for findings of one project. It has no effect until a user with the triager " +
			"role approves it. Viewers can send requests. A finding that already has a request is a conflict, and so " +
			"is a request over the limits: 50 pending per user, 500 in total. The request ends when none of its " +
			"findings is open any more.",
	},
	"importDocuments": {
		Summary: "Import VEX documents",
		Text: "Stores VEX documents for many projects, all or none. The body is a multipart form of files or a raw " +
			"body; both can be gzip. A newer document of the same name and projects replaces the stored one. " +
			"Documents for one project are imported as reports. Tokens that are restricted to projects are rejected.",
	},
	"approveException": {
		Summary: "Approve a requested exception",
		Text: "Activates a requested exception: its findings are ignored on all refs until a date. It overrides " +
			"earlier decisions, and later decisions override it. A VEX document takes effect as if the caller had " +
			"uploaded it. With `statements`, only these take effect, in addition to the active document of its name. " +
			"An exception with a decision is a conflict, a replaced one a 404.",
	},
	"refuseException": {
		Summary: "Refuse a requested exception",
		Text: "Ends a request with a reason, or refuses `statements` of a VEX document. Uploads of the project do " +
			"not propose the same statements again. An exception with a decision is a conflict.",
	},
	"withdrawException": {
		Summary: "Withdraw a requested exception",
		Text:    "Ends a request of the token's creator. Requests of other users are rejected.",
	},
}
