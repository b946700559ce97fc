package admin

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	pipelineMessagesDesc = desc("ferry_pipeline_messages_total", "Messages and records that a step of a pipeline got (in) and passed on (out). The label step is its number and its text.", "function", "step", "dir")
	pipelineSkippedDesc  = desc("ferry_pipeline_skipped_total", "Messages that a step dropped, as they lack a field or have it in another form.", "function", "step")
	pipelineLateDesc     = desc("ferry_pipeline_late_total", "Messages that a step dropped, as their windows had ended.", "function", "step")
	pipelineGroupsDesc   = desc("ferry_pipeline_groups", "Groups that a pipeline keeps state for.", "function")
	pipelineOpenDesc     = desc("ferry_pipeline_open", "Open windows of a pipeline, and messages that its steps hold.", "function")
	pipelineRefusedDesc  = desc("ferry_pipeline_refused_total", "Messages dropped, as their group would exceed max_groups.", "function")
	pipelineFailedDesc   = desc("ferry_pipeline_failed_total", "Results of a pipeline that were not published.", "function")
)

// collectPipeline sends the metrics of one pipeline.
func collectPipeline(ch chan<- prometheus.Metric, function string, p *Pipeline) {
	for i, s := range p.Steps {
		step := fmt.Sprintf("%d %s", i+1, s.Text)
		ch <- counter(pipelineMessagesDesc, s.In, function, step, "in")
		ch <- counter(pipelineMessagesDesc, s.Out, function, step, "out")
		ch <- counter(pipelineSkippedDesc, s.Skipped, function, step)
		ch <- counter(pipelineLateDesc, s.Late, function, step)
	}
	ch <- gauge(pipelineGroupsDesc, p.Groups, function)
	ch <- gauge(pipelineOpenDesc, p.Open, function)
	ch <- counter(pipelineRefusedDesc, p.Refused, function)
	ch <- counter(pipelineFailedDesc, p.Failed, function)
}
