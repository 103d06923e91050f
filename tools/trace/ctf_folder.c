/*
 * ctf_folder.c - gsb-trace on what `lttng create --output` has made: a graph of libbabeltrace2 that reads every trace below
 * a folder, merges them by time, and gives all messages to ctf.c.
 */
#include "tools/trace/ctf_folder.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>

#include "tools/trace/ctf.h"

struct sink {
	struct gsb_traced *t;
	int err;
};

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator,
								  void *data)
{
	struct sink *s = data;
	bt_message_array_const messages;
	uint64_t n = 0;
	bt_message_iterator_next_status status = bt_message_iterator_next(iterator, &messages, &n);

	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_graph_simple_sink_component_consume_func_status)status;
	for (uint64_t i = 0; i < n; i++) {
		if (!s->err)
			s->err = gsb_ctf_take(s->t, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return s->err ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR
		      : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- the traces below a folder: where a file metadata is ---- */

static int add_traces(bt_value *inputs, const char *path)
{
	char *const roots[] = {(char *)path, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int n = 0;

	while (tree && (entry = fts_read(tree))) {
		char folder[4096];

		if (entry->fts_info != FTS_F || strcmp(entry->fts_name, "metadata"))
			continue;
		snprintf(folder, sizeof(folder), "%.*s",
			 (int)(entry->fts_pathlen - strlen("/metadata")), entry->fts_path);
		if (bt_value_array_append_string_element(inputs, folder) ==
		    BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK)
			n++;
	}
	if (tree)
		fts_close(tree);
	return n;
}

static bt_value *make_params(const char *path, char *why)
{
	bt_value *params = bt_value_map_create(), *inputs = NULL;

	if (params &&
	    bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
		    BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
	    add_traces(inputs, path) > 0)
		return params;
	bt_value_put_ref(params);
	snprintf(why, GSB_TRACE_WHY_MAX, "no trace in it: it has no file `metadata`");
	return NULL;
}

/* ---- the graph ---- */

struct parts {
	const bt_plugin *ctf, *utils;
	bt_graph *graph;
	const bt_component_source *source;
	const bt_component_filter *muxer;
	const bt_component_sink *sink;
};

/* All that stands behind a plug-in's name; NULL: it is not installed. */
static const bt_plugin *find_plugin(const char *name)
{
	const bt_plugin *p = NULL;

	bt_plugin_find(name, BT_FALSE, BT_FALSE, BT_TRUE, BT_FALSE, BT_TRUE, &p);
	return p;
}

static int add_components(struct parts *p, const bt_value *params, struct sink *sink)
{
	const bt_component_class_source *fs =
		bt_plugin_borrow_source_component_class_by_name_const(p->ctf, "fs");
	const bt_component_class_filter *muxer =
		bt_plugin_borrow_filter_component_class_by_name_const(p->utils, "muxer");

	if (!fs || !muxer ||
	    bt_graph_add_source_component(p->graph, fs, "source", params, BT_LOGGING_LEVEL_NONE,
					  &p->source) ||
	    bt_graph_add_filter_component(p->graph, muxer, "muxer", NULL, BT_LOGGING_LEVEL_NONE,
					  &p->muxer) ||
	    bt_graph_add_simple_sink_component(p->graph, "sink", NULL, consume, NULL, sink,
					       &p->sink))
		return -EBADMSG;
	return 0;
}

static int connect(struct parts *p)
{
	uint64_t n = bt_component_source_get_output_port_count(p->source);

	for (uint64_t i = 0; i < n; i++) /* the muxer has a free port more each time */
		if (bt_graph_connect_ports(
			    p->graph,
			    bt_component_source_borrow_output_port_by_index_const(p->source, i),
			    bt_component_filter_borrow_input_port_by_index_const(p->muxer, i),
			    NULL))
			return -EBADMSG;
	if (bt_graph_connect_ports(
		    p->graph, bt_component_filter_borrow_output_port_by_index_const(p->muxer, 0),
		    bt_component_sink_borrow_input_port_by_index_const(p->sink, 0), NULL))
		return -EBADMSG;
	return 0;
}

/* The first reason that libbabeltrace2 gives for what it could not do. */
static void say_why(char *why)
{
	const bt_error *error = bt_current_thread_take_error();

	snprintf(why, GSB_TRACE_WHY_MAX, "libbabeltrace2 cannot read it");
	if (!error)
		return;
	if (bt_error_get_cause_count(error))
		snprintf(why, GSB_TRACE_WHY_MAX, "libbabeltrace2: %s",
			 bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
	bt_error_release(error);
}

static int run(struct parts *p, const bt_value *params, struct sink *sink, char *why)
{
	int err = -EBADMSG;

	p->ctf = find_plugin("ctf");
	p->utils = find_plugin("utils");
	p->graph = bt_graph_create(0);
	if (p->ctf && p->utils && p->graph) {
		err = add_components(p, params, sink);
		if (!err)
			err = connect(p);
		if (!err && bt_graph_run(p->graph) != BT_GRAPH_RUN_STATUS_OK)
			err = sink->err ? sink->err : -EBADMSG;
	}
	if (err)
		say_why(why);
	bt_graph_put_ref(p->graph);
	bt_plugin_put_ref(p->ctf);
	bt_plugin_put_ref(p->utils);
	return err;
}

int gsb_ctf_load(struct gsb_traced *t, const char *path, char *why)
{
	bt_value *params = make_params(path, why);
	struct sink sink = {.t = t};
	struct parts p = {0};
	int err;

	if (!params)
		return -EBADMSG;
	gsb_ctf_begin(t);
	err = run(&p, params, &sink, why);
	bt_value_put_ref(params);
	if (err && t->n_events) { /* as far as it goes, as with a file */
		fprintf(stderr, "gsb-trace: %s: %s\n", path, why);
		t->ending = GSB_TRACED_DAMAGED;
		err = 0;
	}
	if (err)
		gsb_traced_finish(t);
	return err;
}
