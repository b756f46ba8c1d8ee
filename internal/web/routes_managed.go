package web

import "slices"

// managedRoutes returns the table of the pages about code hosts, managed scans and notifications.
func managedRoutes() []route {
	return slices.Concat(connectionRoutes(), notificationRoutes(), []route{
		{row(get, org+"/runs", roleViewer, reads), listRuns},
		{row(get, org+"/runs/{id}", roleViewer, reads), showRun},
		{row(post, org+"/runs/{id}/cancel", roleTriager, writes), cancelRun},
		{row(post, org+"/runs/{id}/retry", roleTriager, writes), retryRun},
	})
}

// connectionRoutes are the rows about code hosts, and about who makes managed scans.
func connectionRoutes() []route {
	return []route{
		{row(get, org+connectionsPath, roleAdmin, reads), connections},
		{row(post, org+connectionsPath, roleAdmin, writes), proven(formed(addConnection))},
		{row(get, org+connectionsPath+"/{id}", roleAdmin, reads), connection},
		{row(post, org+connectionsPath+"/{id}", roleAdmin, writes), proven(formed(changeConnection))},
		{row(post, org+connectionsPath+"/{id}/test", roleAdmin, writes), testConnection},
		{row(post, org+connectionsPath+"/{id}/repositories", roleAdmin, writes), formed(chooseRepositories)},
		{row(post, org+connectionsPath+"/{id}/hooks", roleAdmin, writes), formed(hookConnection)},
		{row(post, org+connectionsPath+"/{id}/remove", roleAdmin, writes), proven(removeConnection)},
		{row(get, org+runnersPath, roleAdmin, reads), runners},
		{row(post, org+runnersPath, roleAdmin, writes), proven(makeRunnerToken)},
		{row(post, org+runnersPath+"/{id}/revoke", roleAdmin, writes), revokeRunner},
	}
}

// notificationRoutes are the rows about who is told of what.
func notificationRoutes() []route {
	const rules, one = org + notificationsPath, org + notificationsPath + "/{id}"
	return []route{
		{row(get, rules, roleAdmin, reads), notifications},
		{row(get, rules+"/new", roleAdmin, reads), newNotification},
		{row(post, rules, roleAdmin, writes), proven(formed(addNotification))},
		{row(get, one, roleAdmin, reads), notification},
		{row(post, one, roleAdmin, writes), proven(formed(changeNotification))},
		{row(post, one+"/pause", roleAdmin, writes), formed(pauseNotification)},
		{row(post, one+"/test", roleAdmin, writes), testNotification},
		{row(post, one+"/rotate", roleAdmin, writes), proven(rotateNotification)},
		{row(post, one+"/delete", roleAdmin, writes), proven(deleteNotification)},
		{row(post, one+"/notifications/{notification}/resend", roleAdmin, writes), resendNotification},
	}
}
