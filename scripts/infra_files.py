"""infra/http.yml and infra/roles.yml, made from the route table."""

from collections.abc import Iterator
from typing import NamedTuple

from queuelog_core.http.routes import GROUPS, routes_of

MADE = "# Generated from queuelog_core/http/routes.py by `make generate`; do not edit.\n"
RESERVED = "${file(infra/concurrency.yml):${param:concurrency}.mounting, null}"
MOUNTING = ("vpc", "fileSystemConfig", "dependsOn")
UPKEEP = "maintain"


class Calls(NamedTuple):
    """What the DynamoDB store is made to call: on items of the table, and which indexes it
    queries."""

    items: frozenset[str] = frozenset()
    indexes: frozenset[str] = frozenset()

    def __or__(self, other: "Calls") -> "Calls":
        return Calls(self.items | other.items, self.indexes | other.indexes)


def _calls(items: str, indexes: str = "") -> Calls:
    return Calls(frozenset(items.split()), frozenset(indexes.split()))


_INSERT = _calls("GetItem PutItem Query UpdateItem")
_CHANGE = _calls("GetItem Query UpdateItem")
CALLS = {
    "enqueue": _INSERT,
    "batch": _INSERT,
    "list_jobs": _calls("BatchGetItem GetItem", "list work"),
    "claim": _calls("BatchGetItem GetItem PutItem Query UpdateItem", "work"),
    "redrive_many": _CHANGE | _calls("BatchGetItem", "work"),
    "get": _calls("Query"),
    "attempts": _calls("Query"),
    "complete": _CHANGE | _calls("PutItem"),
    "fail": _CHANGE | _calls("BatchWriteItem PutItem"),
    "heartbeat": _CHANGE,
    "release": _CHANGE,
    "cancel": _CHANGE,
    "redrive": _CHANGE,
    "stats": _calls("BatchGetItem GetItem", "work"),
    "whoami": Calls(),
    "health": _calls("UpdateItem"),
    "openapi": Calls(),
    UPKEEP: _calls(
        "BatchGetItem BatchWriteItem DeleteItem GetItem PutItem Query UpdateItem", "list work"
    ),
}
"""By route, and for the upkeep. tests/functions/test_table_calls.py holds it to what is called."""

# The actions on network interfaces are those with which Lambda attaches a function to the network;
# IAM cannot narrow them to a resource.
SHARED = """lambda: &lambda
  Version: '2012-10-17'
  Statement:
    - Effect: Allow
      Principal: { Service: lambda.amazonaws.com }
      Action: sts:AssumeRole
volume: &volume
  Effect: Allow
  Action: [elasticfilesystem:ClientMount, elasticfilesystem:ClientWrite]
  Resource: { 'Fn::GetAtt': [FileSystem, Arn] }
  Condition:
    StringEquals:
      elasticfilesystem:AccessPointArn: { 'Fn::GetAtt': [AccessPoint, Arn] }
network: &network
  Effect: Allow
  Action:
    - ec2:AssignPrivateIpAddresses
    - ec2:CreateNetworkInterface
    - ec2:DeleteNetworkInterface
    - ec2:DescribeNetworkInterfaces
    - ec2:DescribeSubnets
    - ec2:UnassignPrivateIpAddresses
  Resource: '*'
"""
ROLE = """    {name}Role:
      Type: AWS::IAM::Role
      Properties:
        AssumeRolePolicyDocument: *lambda
        Policies:
          - PolicyName: {function}
            PolicyDocument:
              Version: '2012-10-17'
              Statement:
                - Effect: Allow
                  Action: [logs:CreateLogStream, logs:PutLogEvents]
                  Resource:
                    Fn::Sub: "arn:${{AWS::Partition}}:logs:${{AWS::Region}}:${{AWS::AccountId}}:\\
                      log-group:/aws/lambda/queuelog-${{sls:stage}}-{function}:*"
"""
STATEMENT = """                - Effect: Allow
                  Action: [{actions}]
                  Resource:
"""
TABLE = """                    - Fn::Sub: "arn:${{AWS::Partition}}:dynamodb:${{AWS::Region}}:\\
                        ${{AWS::AccountId}}:table/${{param:table}}{index}"
"""


def http_yml_text() -> str:
    """The functions behind routes: one per group, its routes in the order of the table."""
    lines = [MADE.rstrip()]
    for group in GROUPS:
        lines += [f"{group}:", f"  handler: functions/{group}.handler"]
        lines += [f"  role: {group.capitalize()}Role", f"  reservedConcurrency: {RESERVED}"]
        lines += [
            f"  {name}: ${{file(infra/${{param:database}}.yml):mounting.{name}, null}}"
            for name in MOUNTING
        ]
        lines += ["  events:"]
        for route in routes_of(group):
            lines += [
                "    - httpApi:",
                f"        method: {route.method}",
                f"        path: {route.path}",
            ]
            if route.authorizer is not None:
                lines += ["        authorizer:", f"          name: {route.authorizer}"]
    return "\n".join(lines) + "\n"


def roles_yml_text() -> str:
    """For each database a role for each function that uses the store: its own log, and the volume
    and the network or what it calls on the table."""
    return MADE + SHARED + "".join([*_roles("sqlite"), *_roles("dynamodb")])


def calls_of(function: str) -> Calls:
    """What a function makes the DynamoDB store call."""
    names = [function] if function == UPKEEP else [route.name for route in routes_of(function)]
    asked = Calls()
    for name in names:
        asked |= CALLS[name]
    return asked


def _roles(database: str) -> Iterator[str]:
    yield f"{database}:\n  Resources:\n"
    for function in (*GROUPS, UPKEEP):
        yield ROLE.format(name=function.capitalize(), function=function)
        if database == "sqlite":
            yield "                - *volume\n                - *network\n"
        else:
            yield from _on_the_table(calls_of(function))


def _on_the_table(calls: Calls) -> Iterator[str]:
    if calls.items:
        actions = ", ".join(f"dynamodb:{call}" for call in sorted(calls.items))
        yield STATEMENT.format(actions=actions) + TABLE.format(index="")
    if calls.indexes:
        indexes = [TABLE.format(index=f"/index/{name}") for name in sorted(calls.indexes)]
        yield STATEMENT.format(actions="dynamodb:Query") + "".join(indexes)
