"""NVSentinel's platform connector as far as `gpuready kubernetes event` sees it, by grpcio and protobuf of the Python
registry. Field numbers: data-models/protobufs/health_event.proto of NVIDIA/NVSentinel.
Usage: health_event_server.py SOCKET ok|hang|STATUS   Prints the messages that it takes."""
import sys
import time
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

FIELDS = {
    "Entity": [("entityType", 1, "string"), ("entityValue", 2, "string")],
    "Timestamp": [("seconds", 1, "int64"), ("nanos", 2, "int32")],
    "HealthEvent": [("version", 1, "uint32"), ("agent", 2, "string"), ("componentClass", 3, "string"),
                    ("checkName", 4, "string"), ("isFatal", 5, "bool"), ("isHealthy", 6, "bool"), ("message", 7, "string"),
                    ("recommendedAction", 8, "int32"), ("errorCode", 9, "string*"), ("entitiesImpacted", 10, "Entity*"),
                    ("generatedTimestamp", 12, "Timestamp"), ("nodeName", 13, "string")],
    "HealthEvents": [("version", 1, "uint32"), ("events", 2, "HealthEvent*")],
}
Field = descriptor_pb2.FieldDescriptorProto
file = descriptor_pb2.FileDescriptorProto(name="events.proto", package="datamodels", syntax="proto3")
for name, fields in FIELDS.items():
    message = file.message_type.add(name=name)
    for field, number, kind in fields:
        label = Field.LABEL_REPEATED if kind.endswith("*") else Field.LABEL_OPTIONAL
        kind = kind.rstrip("*")
        if kind in FIELDS:
            message.field.add(name=field, number=number, label=label, type=Field.TYPE_MESSAGE, type_name=f".datamodels.{kind}")
        else:
            message.field.add(name=field, number=number, label=label, type=getattr(Field, f"TYPE_{kind.upper()}"))
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
HealthEvents = message_factory.GetMessageClass(pool.FindMessageTypeByName("datamodels.HealthEvents"))


def take(request, context):
    if sys.argv[2] == "hang":
        time.sleep(20)
    elif sys.argv[2] != "ok":
        context.abort(getattr(grpc.StatusCode, sys.argv[2]), "not this node")
    events = HealthEvents.FromString(request)
    print("\n".join(text_format.MessageToString(event, as_one_line=True) for event in events.events), flush=True)
    return b""


class Connector(grpc.GenericRpcHandler):
    def service(self, call):
        if call.method == "/datamodels.PlatformConnector/HealthEventOccurredV1":
            return grpc.unary_unary_rpc_method_handler(take)


server = grpc.server(futures.ThreadPoolExecutor(1))
server.add_generic_rpc_handlers((Connector(),))
server.add_insecure_port("unix:" + sys.argv[1])
server.start()
time.sleep(40)
