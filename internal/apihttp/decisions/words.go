package decisions

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listExceptions": {
		Summary: "List exceptions",
		Text: "Exceptions that are requested, active or past, the newest first, in pages. Pass `cursor` to get the " +
			"next page; it " +
			"is absent on the last one. The last 10,000 past ones are kept. A token that is bound to projects sees those of " +
			"its projects alone.",
	},
	"createException": {
		Summary: "Create an exception",
		Text: "Ignores what a rule or a vulnerability finds, now and later, until a day, by a triage that people's beats. " +
			"Either `until` or `forever` is needed. `projects` and `paths` are at most 100 globs each, of 1 to 512 characters " +
			"without control characters; " +
			"a path glob has no `!` or `#` and no `./` in front, no `//`, no backslash and no space around it. `target` has " +
			"no spaces. `dry_run` tells which findings would change, and its `selection`, sent with the request, has just " +
			"that done or nothing.",
	},
	"getException": {
		Summary: "Get an exception",
		Text: "An exception by its id; with `ending` also what would change without it. " +
			"Of a VEX document also what it says, in pages, and of a requested one what each statement would change.",
	},
	"deleteException": {
		Summary: "Delete an exception",
		Text: "Ends an active exception now and reopens what it ignored, but for what people, other exceptions or " +
			"VEX documents " +
			"decide. With the `selection` that `getException` told with `ending`, just that is done or nothing. One that is " +
			"not active is a 404.",
	},
	"requestException": {
		Summary: "Ask for an exception",
		Text: "Asks for an exception for findings of one project. It changes nothing until somebody who may triage " +
			"approves it. " +
			"Viewers may ask. A finding with a request already is a conflict, and so is one request too many: 50 wait of one " +
			"person, 500 in all. " +
			"It ends by itself when none of its findings is open any more.",
	},
	"importDocuments": {
		Summary: "Import VEX documents",
		Text: "Stores VEX documents for many projects, all or none: as a multipart " +
			"form of files, or as a raw body; either may be gzip. " +
			"A newer document of the same name and projects replaces the stored one. A document for one project " +
			"is imported as " +
			"a report of it. A token that is bound to projects may not.",
	},
	"approveException": {
		Summary: "Approve a requested exception",
		Text: "Makes a requested exception active: its findings are ignored on all refs, until a day. It beats what people " +
			"decided before it, and what they decide later beats it. A VEX document counts as if you had sent it, or some of " +
			"its `statements`, beside what the active document of its name says already. One that was decided already is a " +
			"conflict, one that was replaced meanwhile a 404.",
	},
	"refuseException": {
		Summary: "Refuse a requested exception",
		Text: "Ends a request with the reason, or refuses `statements` of a " +
			"VEX document: uploads of the project do not propose the same again. One that was decided already is a conflict.",
	},
	"withdrawException": {
		Summary: "Withdraw a requested exception",
		Text:    "Ends a request of the maker of the token. Other people's requests are refused.",
	},
}
