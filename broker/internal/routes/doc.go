// Package routes finds what belongs to tags: the tags that a filter matches, and the filters that match a tag. A Predicate says which of
// their messages a subscription gets.
//
//	var tags, filters Levels[int]
//	tags.Set("building/1/door", 7)
//	tags.MatchingTags("building/+/#", 100, func(v int) {}) // 7
//	filters.Set("building/#", 3)
//	filters.MatchingFilters("building/1/door", func(v int) {}) // 3
package routes
